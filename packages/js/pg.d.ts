interface Types {
  setTypeParser (oid: number, parse: (text: string) => unknown): void
  setTypeParser (oid: number, format: 'binary', parse: (value: any) => never): void
  getTypeParser (oid: number): (text: string) => unknown
}

interface Client {
  query (text: string): Promise<{ rows: any[] }>
}

/** Reads sno[], and arrays of domains over sno, as arrays, and refuses all of them with `binary: true`, which garbles them: for one client, or with `pg.types` for all that connect to this database. */
export function register (client: Client & Types): Promise<void>
export function register (client: Client, types: Types): Promise<void>
