// Puts index.js into inspect.html, which is one file for all: npm run build.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const read = name => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')

export const page = fileURLToPath(new URL('../inspect.html', import.meta.url))

export function inlined () {
  const code = read('index.js').replace(/^export /gm, '').split('\n').slice(1).join('\n')
  return read('inspect.html').replace(/(?<=^\/\/ Of index\.js.*\n)[^]*(?=^\/\/ End of index\.js)/m, () => code)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, inlined())
