// The page "What is in this ID?", in a browser where there is one: CHROMIUM names it.
import assert from 'node:assert'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { inlined } from './prepack.js'

const CHROMIUM = process.env.CHROMIUM ?? 'chromium'
const skip = spawnSync(CHROMIUM, ['--version']).error && `needs ${CHROMIUM}`

const folder = mkdtempSync(path.join(tmpdir(), 'sno-page-'))
after(() => rmSync(folder, { recursive: true }))
const page = path.join(folder, 'inspect.html')
writeFileSync(page, inlined())

/** What the page shows for a text, without its own first paragraphs. */
function shown (text, { hash = encodeURIComponent(text), file = page } = {}) {
  const url = `${pathToFileURL(file)}#${hash}`
  const options = ['--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=2000', '--dump-dom', url]
  const html = execFileSync(CHROMIUM, options, { encoding: 'utf8', env: { ...process.env, TZ: 'Asia/Kolkata' }, stdio: ['ignore', 'pipe', 'ignore'] })
  return /<div id="output"[^>]*>(.*)<\/div>\s*<script/s.exec(html)[1]
}

const text = html => html.replace(/<[^>]*>/g, '|').replace(/\|+/g, '|')

test('one ID, as text and as bytes', { skip }, () => {
  for (const input of ['9q7k4op826n2g222', ' "9q7k4op826n2g222",', '\\x3E0B215AE6012A070000']) {
    const page = text(shown(input))
    for (const part of ['|9q7k4op826n2g222|', '|\\x3e0b215ae6012a070000|', '|2026-11-21 09:30:15.372 UTC|',
      '|2026-11-21 15:00:15.372 +05:30|', '|1 (0x01)|', '|10759: prefix 42/8, generator 7|', '|39 bits|', '|133237353843|']) {
      assert(page.includes(part), `${part} of ${input} in ${page}`)
    }
  }
})

test('a list, and what is wrong with a part of it', { skip }, () => {
  const html = shown('9q7k4op826n2g222\nXXXXXXXXXXXXXXXX, 9q7k4op826n2g2y2\nshort xxxxxxxxxxxxxxxx 3971376b-346f-7038-3236-6e3267323232')
  const page = text(html)
  for (const part of ['|2026-11-21 09:30:15.372 UTC|', 'character 1 is not one of 2-9 and a-x. All letters of an ID are in lower case: xxxxxxxxxxxxxxxx|',
    '|9q7k4op826n2g2|y|2|', 'character 15 is not', '|short|invalid sno: length is 5 instead of 16|', '|2079-09-07 15:47:35.548 UTC, still to come|', 'It is a uuid']) {
    assert(page.includes(part), `${part} in ${page}`)
  }
})

test('bad input', { skip }, () => {
  assert.strictEqual(shown(''), '')
  assert.strictEqual(shown(' \n,'), '')
  assert(text(shown('xxxxxxxxxxxxxxxx')).includes('still to come'))
  assert(text(shown('\\x3e0b')).includes('length is 6'))
  assert(text(shown('\\X3e0b215ae6012a070000')).includes('length is 22'))
  assert(text(shown('9q7k4op826n2g222 xxxxxxxxxxxxxxxx')).includes('still to come'))
  assert(text(shown('é'.repeat(16))).includes('character 1 is not'))
  assert(text(shown('x'.repeat(5000))).includes('length is 5000'))
  assert(text(shown('', { hash: '%zz' })).includes('length is 3'))
  const html = shown('<img/src=x/onerror=document.title=1>')
  assert(html.includes('&lt;img') && !html.includes('<img'), html)
})

test('a number of bits that no prefix has', { skip }, () => {
  const file = path.join(folder, 'typed.html')
  const typed = "bits.value = 99; input.dispatchEvent(new Event('input'))\n</script>"
  writeFileSync(file, inlined().replace('</script>', () => typed))
  const html = text(shown('9q7k4op826n2g222', { file }))
  assert(html.includes('|10759|') && !html.includes('prefix'), html)
})
