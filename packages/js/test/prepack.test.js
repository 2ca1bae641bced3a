// The modules for `require`, where that cannot load those of ECMAScript.
import assert from 'node:assert'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { required } from './prepack.js'

const folder = mkdtempSync(path.join(tmpdir(), 'sno-cjs-'))
after(() => rmSync(folder, { recursive: true }))

test('modules for require export the same', async () => {
  const names = ['index', 'kind', 'pg', 'consumer']
  for (const name of names) {
    const module = readFileSync(new URL(`../${name}.js`, import.meta.url), 'utf8')
    writeFileSync(path.join(folder, `${name}.js`), required(module))
  }
  for (const name of names) {
    const program = `console.log(Object.keys(require('./${name}.js')).sort().join())`
    const exported = execFileSync(process.execPath, ['--no-experimental-require-module', '-e', program], { cwd: folder, encoding: 'utf8' })
    assert.strictEqual(exported.trim(), Object.keys(await import(`../${name}.js`)).sort().join())
  }
})
