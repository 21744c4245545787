// Command dtserver is a streaming table store in one process: SQL over the
// Postgres protocol in front, a Kafka log and a warehouse of Parquet files
// behind.
//
// main.go runs it, config.go has its flags, memory.go cuts the memory budget,
// datadir.go locks the data folder, start.go builds every part and takes them
// down in turn, adapt.go fits parts to each other that do not know each other,
// adopt.go takes the tables over after the start, run.go says hello and obeys
// signals.
//
// What must stay true: nothing is opened twice (the data folder is locked, the
// group of Kafka and prefix claimed, before anything writes); a start that
// fails is one line that says what to do, and a status that is not 0; whatever
// was opened is closed, last first.
package main
