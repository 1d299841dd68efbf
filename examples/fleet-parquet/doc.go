// Fleet-parquet writes digests of ranks as Parquet tables: runs, ranks, steps, operators and collectives, for DuckDB,
// ClickHouse and whatever else reads Parquet.
//
//	strata digest runs/ --output ranks.ndjson
//	fleet-parquet --output tables/ ranks.ndjson
package main
