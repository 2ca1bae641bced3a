import type { Sno } from './index.js'

/** The mask of an ID, with a key of 16, 24 or 32 bytes. */
export function mask (id: string, key: Uint8Array, context?: string): string
/** The ID of a mask. A wrong key, context or mask gives the ID of another row, or of none. */
export function unmask (masked: string, key: Uint8Array, context?: string): Sno
/** Both with a key and a context, for `kind`. */
export function masks (key: Uint8Array, context?: string): { mask (id: string): string, unmask (masked: string): Sno }
