package manifest

// The texts of the two Avro schemas, byte for byte as they go into a file's header
// (paimon-format 4.1 and 4.2): no white space, ["null", X] in that order, a namespace only at
// the root, nested records named after their path.

const listSchemaText = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[{"name":"_VERSION","type":"int"},` +
	`{"name":"_FILE_NAME","type":"string"},` +
	`{"name":"_FILE_SIZE","type":"long"},` +
	`{"name":"_NUM_ADDED_FILES","type":"long"},` +
	`{"name":"_NUM_DELETED_FILES","type":"long"},` +
	`{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS","fields":[{"name":"_MIN_VALUES","type":"bytes"},` +
	`{"name":"_MAX_VALUES","type":"bytes"},` +
	`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},` +
	`{"name":"_SCHEMA_ID","type":"long"},` +
	`{"name":"_MIN_BUCKET","type":["null","int"],"default":null},` +
	`{"name":"_MAX_BUCKET","type":["null","int"],"default":null},` +
	`{"name":"_MIN_LEVEL","type":["null","int"],"default":null},` +
	`{"name":"_MAX_LEVEL","type":["null","int"],"default":null},` +
	`{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},` +
	`{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]}`

const entrySchemaText = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[{"name":"_VERSION","type":"int"},` +
	`{"name":"_KIND","type":"int"},` +
	`{"name":"_PARTITION","type":"bytes"},` +
	`{"name":"_BUCKET","type":"int"},` +
	`{"name":"_TOTAL_BUCKETS","type":"int"},` +
	`{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[{"name":"_FILE_NAME","type":"string"},` +
	`{"name":"_FILE_SIZE","type":"long"},` +
	`{"name":"_ROW_COUNT","type":"long"},` +
	`{"name":"_MIN_KEY","type":"bytes"},` +
	`{"name":"_MAX_KEY","type":"bytes"},` +
	`{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS","fields":[{"name":"_MIN_VALUES","type":"bytes"},` +
	`{"name":"_MAX_VALUES","type":"bytes"},` +
	`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},` +
	`{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS","fields":[{"name":"_MIN_VALUES","type":"bytes"},` +
	`{"name":"_MAX_VALUES","type":"bytes"},` +
	`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},` +
	`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},` +
	`{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},` +
	`{"name":"_SCHEMA_ID","type":"long"},` +
	`{"name":"_LEVEL","type":"int"},` +
	`{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},` +
	`{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},` +
	`{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},` +
	`{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},` +
	`{"name":"_FILE_SOURCE","type":["null","int"],"default":null},` +
	`{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},` +
	`{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},` +
	`{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},` +
	`{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}`

// Columns that every version of the format has and that mean nothing when absent. The others
// were added later, or may be left out.
var (
	entryRequired = []string{"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"}
	fileRequired  = []string{
		"_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY", "_KEY_STATS", "_VALUE_STATS",
		"_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID", "_LEVEL",
	}
	listRequired = []string{"_VERSION", "_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_PARTITION_STATS", "_SCHEMA_ID"}
)
