package catalog

import "strings"

// optionClass says what an option of Paimon or Flink does to a batch read.
type optionClass int

const (
	unknown  optionClass = iota
	harmless             // it changes how a table is written, followed or kept
	changes              // it changes which rows a batch read gives, or how they are found
)

// class is what is known of an option. Names come from Paimon's option lists up
// to 2.0 and Flink's for tables (paimon-format.md 15).
func class(key string) optionClass {
	if c, ok := knownNames[key]; ok {
		return c
	}
	for _, p := range knownPrefixes {
		if strings.HasPrefix(key, p.prefix) {
			if p.suffix != "" && !strings.HasSuffix(key, p.suffix) {
				continue
			}
			return p.class
		}
	}
	return unknown
}

type knownPrefix struct {
	prefix, suffix string
	class          optionClass
}

// knownPrefixes are families of options; the first that fits counts.
var knownPrefixes = []knownPrefix{
	{"fields.", ".stats-mode", harmless},
	{"fields.", "", changes},
	{"file-index.", "", harmless}, // we read the files themselves
	{"parquet.", "", harmless},
	{"orc.", "", harmless},
	{"avro.", "", harmless},
	{"metadata.", "", harmless},
	{"metastore.", "", harmless},
	{"tag.", "", harmless},
	{"lookup.", "", harmless},
	{"sink.", "", harmless},
	{"commit.", "", harmless},
	{"compaction.", "", harmless},
	{"consumer.", "", harmless},
	{"changelog.", "", harmless},
	{"changelog-file.", "", harmless},
	{"changelog-producer.", "", harmless},
	{"dynamic-bucket.", "", harmless},
	{"cross-partition-upsert.", "", harmless},
	{"partition.expiration-", "", harmless},
	{"partition.mark-done-", "", harmless},
	{"schema.watermark.", "", harmless},
	{"schema.", "", changes}, // computed columns
	{"log.", "", harmless},
	{"streaming.", "", harmless},
	{"incremental-", "", changes},
	{"record-level.", "", changes},
	{"partial-update.", "", changes},
	{"aggregation.", "", changes},
	{"materialized-table.", "", changes},
	{"postpone.", "", changes},
	{"global-index.", "", changes},
	{"pk-clustering-", "", changes},
	{"blob", "", changes},
	{"vector", "", changes},
}

var knownNames = func() map[string]optionClass {
	m := map[string]optionClass{}
	for name := range strings.FieldsSeq(harmlessNames) {
		m[name] = harmless
	}
	for name := range strings.FieldsSeq(changingNames) {
		m[name] = changes
	}
	return m
}()

const harmlessNames = `
	write-only write-buffer-size write-buffer-spillable write-buffer-spill.max-disk-size write-buffer-for-append
	write-max-writers-to-spill write-manifest-cache write.sequence-number-init-mode page-size cache-page-size
	local-merge-buffer-size local-sort.max-num-file-handles sort-engine sort-spill-threshold sort-spill-buffer-size
	sort-compaction.range-strategy sort-compaction.local-sample.magnification zorder.var-length-contribution
	spill-compression spill-compression.zstd-level async-file-write
	num-levels num-sorted-run.compaction-trigger num-sorted-run.stop-trigger full-compaction.delta-commits
	lookup-wait lookup-compact lookup-compact.max-interval force-lookup
	snapshot.num-retained.min snapshot.num-retained.max snapshot.time-retained snapshot.expire.execution-mode
	snapshot.expire.limit snapshot.clean-empty-directories snapshot.watermark-idle-timeout snapshot.ignore-empty-commit
	target-file-size file.block-size file.compression.zstd-level file.suffix.include.compression data-file.prefix
	delete-file.thread-num file-operation.thread-num file-reader-async-threshold read.batch-size index-file-in-data-file-dir
	manifest.compression manifest.target-file-size manifest.full-compaction-threshold-size manifest.merge-min-count
	manifest.delete-file-drop-stats scan.manifest.parallelism
	source.split.target-size source.split.open-file-cost scan.max-splits-per-task scan.plan-sort-partition
	scan.infer-parallelism scan.infer-parallelism.max scan.parallelism scan.split-enumerator.batch-size scan.split-enumerator.mode
	scan.remove-normalize scan.push-down scan.max-snapshot.count scan.dedicated-split-generation scan.partitions
	scan.watermark.idle-timeout scan.watermark.emit.strategy scan.watermark.alignment.group scan.watermark.alignment.max-drift
	scan.watermark.alignment.update-interval
	continuous.discovery-interval streaming-read-mode streaming-read-overwrite streaming-read-append-overwrite
	streaming-read.shuffle-bucket-with-partition streaming-read.shuffle-by-partition
	consumer-id consumer-changelog-only changelog-producer
	partition.timestamp-formatter partition.timestamp-pattern partition.end-input-to-done partition.idle-time-to-done
	partition.time-interval partition.sink-strategy partition.mark-done-when-end-input
	end-input.check-partition-expire end-input.watermark
	dynamic-partition-overwrite overwrite-upgrade bucket-append-ordered unaware-bucket.compaction.parallelism precommit-compact
	deletion-vectors.bitmap64 deletion-vector.index-file.target-size deletion-vectors.modifiable deletion-vectors.merge-on-read
	log.retention owner provider comment path
`

const changingNames = `
	bucket bucket-key bucket-function.type merge-engine ignore-delete ignore-update-before
	sequence.field sequence.field.sort-order sequence.auto-padding sequence.snapshot-ordering rowkind.field
	file.format file.format.per.level file.compression file.compression.per.level manifest.format
	deletion-vectors.enabled data-file.thin-mode data-file.path-directory
	data-file.external-paths data-file.external-paths.strategy data-file.external-paths.specific-fs
	partition.default-name partition.legacy-name branch type auto-create
	scan.mode scan.timestamp scan.timestamp-millis scan.watermark scan.file-creation-time-millis scan.creation-time-millis
	scan.snapshot-id scan.tag-name scan.version scan.bounded.watermark scan.fallback-branch batch-scan-mode
	row-tracking.enabled data-evolution.enabled query-auth.enabled primary-key.nullable upsert-key object-location
	primary-key partition connector change-tracking format-table.implementation
`
