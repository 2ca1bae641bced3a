import { customType } from 'drizzle-orm/pg-core'
import type { Sno } from './index.js'

/** A column of the type sno: `sno('id').primaryKey().default(sql`sno_new(1)`)`. */
export declare const sno: ReturnType<typeof customType<{ data: Sno, driverData: string }>>
