// Drizzle: the type of a column.
import { customType } from 'drizzle-orm/pg-core'

export const sno = customType({ dataType: () => 'sno' })
