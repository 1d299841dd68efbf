// Fleet-parquet writes digests of ranks as Parquet tables: runs, ranks, steps, operators and collectives, for DuckDB,
// ClickHouse and whatever else reads Parquet.
//
//	strata digest runs/ --output ranks.ndjson
//	fleet-parquet --output tables/ ranks.ndjson
//	fleet-parquet --output s3://bucket/tables 's3://bucket/digests/*.ndjson'
package main
