// Runs the query of stdin in the given folder and writes its rows as JSON; all values are text.
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const db = await (await DuckDBInstance.create(":memory:")).connect();
process.chdir(process.argv[2]);
const rows = (await db.runAndReadAll(readFileSync(0, "utf8"))).getRowObjects();
console.log(JSON.stringify(rows, (_, v) => typeof v === "bigint" ? String(v) : v));
