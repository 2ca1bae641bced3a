// What npm pack adds to the package: cjs/ has the modules for what cannot load those of ECMAScript, as Jest.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const place = name => new URL(`../${name}`, import.meta.url)
const read = name => readFileSync(place(name), 'utf8')

/** A module for `require`. */
export function required (module) {
  const exported = []
  const code = module
    .replace(/^import (\{.*\}) from ('.*')$/gm, (_, names, from) => `const ${names.replaceAll(' as ', ': ')} = require(${from})`)
    .replace(/^export ((?:async )?(?:function|class|const)) (\w+)/gm, (_, what, name) => exported.push(name) && `${what} ${name}`)
  return `'use strict'\n${code}${exported.map(name => `exports.${name} = ${name}\n`).join('')}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(place('cjs'), { recursive: true })
  writeFileSync(place('cjs/package.json'), '{ "type": "commonjs" }\n')
  for (const name of readdirSync(place('.'))) {
    if (name.endsWith('.d.ts')) copyFileSync(place(name), place(`cjs/${name}`))
    else if (name.endsWith('.js')) writeFileSync(place(`cjs/${name}`), required(read(name)))
  }
}
