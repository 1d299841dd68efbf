// Fleet-beam is strata fleet on Apache Beam: the same functions as steps of a pipeline, on any runner of Beam, with
// files in any of its filesystems. The report has the same bytes as that of strata fleet --format json.
//
//	fleet-beam --input 'gs://traces/run-7/**' --output gs://traces/report.json --runner dataflow …
package main
