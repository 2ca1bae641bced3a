// Makes inspect.html of page.html and index.js: one file, since a browser loads no other from a disk. npm pack does so first.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const read = name => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')

export function inlined () {
  return read('page.html').replace('// index.js\n', () => read('index.js').replace(/^export /gm, ''))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(new URL('../inspect.html', import.meta.url), inlined())
