package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dtstore/table"
)

// The options of our own tables that the server sets, and nobody else.
const (
	optTopic     = "dtstore.topic"
	optTopicID   = "dtstore.topic-id"
	optWriteOnly = "write-only" // keeps other engines' commits from compacting and expiring (seam E3)
	ourPrefix    = "dtstore."
)

// maxBuckets bounds the log partitions of one table: each costs Kafka files and
// memory, and each bucket of ours a memtable.
const maxBuckets = 1024

// Defaults of the options, as Paimon has them where it has them.
const (
	DefaultRetainMin         = 10
	DefaultRetained          = time.Hour
	DefaultLogRetention      = time.Hour
	DefaultCompactionTrigger = 5
	stopAfterTrigger         = 3 // num-sorted-run.stop-trigger is so much above the other
)

// TableOptions are the options of a table that say how it is kept.
type TableOptions struct {
	RetainMin         int           // snapshot.num-retained.min
	RetainMax         int           // snapshot.num-retained.max; 0 means no limit
	Retained          time.Duration // snapshot.time-retained
	LogRetention      time.Duration // log.retention: how long the log keeps what files have
	TargetFileBytes   int64         // target-file-size; 0 means the default of the kind of table
	CompactionTrigger int           // num-sorted-run.compaction-trigger
	StopTrigger       int           // num-sorted-run.stop-trigger: writers wait above it
}

// OptionsOf reads the options of a table. What does not parse, in a table of
// another engine, has its default.
func OptionsOf(s *table.Schema) TableOptions {
	o := TableOptions{
		RetainMin: DefaultRetainMin, Retained: DefaultRetained, LogRetention: DefaultLogRetention, CompactionTrigger: DefaultCompactionTrigger,
	}
	number := func(key string, into *int) {
		if n, err := strconv.Atoi(strings.TrimSpace(s.Options[key])); err == nil && n > 0 {
			*into = n
		}
	}
	period := func(key string, into *time.Duration) {
		if d, err := ParseDuration(s.Options[key]); err == nil {
			*into = d
		}
	}
	number("snapshot.num-retained.min", &o.RetainMin)
	number("snapshot.num-retained.max", &o.RetainMax)
	period("snapshot.time-retained", &o.Retained)
	period("log.retention", &o.LogRetention)
	if n, err := ParseSize(s.Options["target-file-size"]); err == nil {
		o.TargetFileBytes = n
	}
	number("num-sorted-run.compaction-trigger", &o.CompactionTrigger)
	o.StopTrigger = o.CompactionTrigger + stopAfterTrigger
	number("num-sorted-run.stop-trigger", &o.StopTrigger)
	return o
}

// built is an option that CREATE TABLE takes.
type built struct {
	// check returns the value as it is stored, or what is wrong with it.
	check func(value string) (string, error)
	// fixed options are decided by CREATE TABLE and cannot be SET.
	fixed bool
	// single options have one value that is built; no hint proposes them.
	single bool
}

var builtOptions = map[string]built{
	"bucket":                            {check: bucketCount, fixed: true},
	"bucket-key":                        {check: anyText, fixed: true},
	"partition.default-name":            {check: anyText, fixed: true},
	"partition.legacy-name":             {check: boolean, fixed: true},
	"snapshot.num-retained.min":         {check: atLeast(1)},
	"snapshot.num-retained.max":         {check: atLeast(1)},
	"snapshot.time-retained":            {check: duration},
	"log.retention":                     {check: duration},
	"target-file-size":                  {check: size},
	"num-sorted-run.compaction-trigger": {check: atLeast(2)},
	"num-sorted-run.stop-trigger":       {check: atLeast(2)},
	"file.compression":                  {check: oneOf("zstd", "snappy", "gzip", "none")},
	"file.compression.zstd-level":       {check: between(1, 22)},
	// These are taken with the one value that is built.
	"merge-engine":             {check: oneOf("deduplicate"), single: true, fixed: true},
	"changelog-producer":       {check: oneOf("none"), single: true},
	"file.format":              {check: oneOf("parquet"), single: true},
	"manifest.format":          {check: oneOf("avro"), single: true},
	"deletion-vectors.enabled": {check: oneOf("false"), single: true},
	"bucket-function.type":     {check: oneOf("default"), single: true, fixed: true},
	"type":                     {check: oneOf("table"), single: true, fixed: true},
	"change-tracking":          {check: oneOf("true"), single: true, fixed: true},
	optWriteOnly:               {check: oneOf("true"), single: true},
}

// badValue is an error of a check: the text names no option.
type badValue struct {
	reason  string
	unbuilt bool // a value that Paimon knows: 0A000, else 22023
}

func (e badValue) Error() string { return e.reason }

func bad(format string, args ...any) error { return badValue{reason: fmt.Sprintf(format, args...)} }

func anyText(v string) (string, error) {
	v = strings.TrimSpace(v)
	if v == "" {
		return "", bad("is empty")
	}
	return v, nil
}

func boolean(v string) (string, error) {
	switch v = strings.ToLower(strings.TrimSpace(v)); v {
	case "true", "false":
		return v, nil
	}
	return "", bad("must be true or false")
}

func atLeast(least int) func(string) (string, error) { return between(least, 1<<31-1) }

func between(least, most int) func(string) (string, error) {
	return func(v string) (string, error) {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		switch {
		case err != nil:
			return "", bad("must be a whole number")
		case n < least:
			return "", bad("must be at least %d", least)
		case n > most:
			return "", bad("must be at most %d", most)
		}
		return strconv.Itoa(n), nil
	}
}

func bucketCount(v string) (string, error) {
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err == nil && n == -2 {
		return "", badValue{"(postponed buckets) is not implemented", true}
	}
	if err == nil && n == -1 {
		return "-1", nil
	}
	return between(1, maxBuckets)(v)
}

func duration(v string) (string, error) {
	if _, err := ParseDuration(v); err != nil {
		return "", bad("must be a duration such as '1 h', '10 min' or '30 s': %v", err)
	}
	return strings.TrimSpace(v), nil
}

func size(v string) (string, error) {
	n, err := ParseSize(v)
	if err != nil || n == 0 {
		return "", bad("must be a size such as '128 mb'")
	}
	return strings.TrimSpace(v), nil
}

func oneOf(values ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		v = strings.TrimSpace(v)
		for _, known := range values {
			if strings.EqualFold(v, known) {
				return known, nil
			}
		}
		if len(values) == 1 {
			return "", badValue{fmt.Sprintf("is not implemented, only '%s' is", values[0]), true}
		}
		return "", badValue{fmt.Sprintf("is not implemented, only %s are", strings.Join(values, ", ")), true}
	}
}

const (
	maxOptions     = 200
	maxOptionBytes = 4096 // of one key or value
)

// checkOption returns the value of a client's option as it is stored: 0A000 for
// what Paimon or Flink know and we have not built, 22023 for what nobody knows.
func checkOption(key, value string) (string, error) {
	if strings.HasPrefix(key, ourPrefix) {
		return "", table.Errorf("22023", "option '%s' is set by the server alone", key)
	}
	if len(key) > maxOptionBytes || len(value) > maxOptionBytes {
		return "", table.Errorf("22023", "option '%.40s…' is longer than %d bytes", key, maxOptionBytes)
	}
	o, ok := builtOptions[key]
	if !ok {
		return "", unknownOption(key)
	}
	v, err := o.check(value)
	if err == nil {
		return v, nil
	}
	b, _ := err.(badValue)
	code := "22023"
	if b.unbuilt {
		code = "0A000"
	}
	e := table.Errorf(code, "option '%s' = '%s' %s", key, value, b.reason)
	if key == optWriteOnly {
		e = e.WithHint("dtstore stores its tables as write-only, so that other engines leave compaction and expiry to it.")
	}
	return "", e
}

func unknownOption(key string) error {
	if hint, ok := elsewhere[key]; ok {
		return table.Errorf("0A000", "option '%s' is not implemented", key).WithHint("%s", hint)
	}
	if class(key) != unknown {
		return table.Errorf("0A000", "option '%s' is not implemented", key).
			WithHint("Leave it out. Options that can be given: %s.", strings.Join(builtNames(), ", "))
	}
	e := table.Errorf("22023", "unknown option '%s'", key)
	if near := table.Nearest(key, slices.Sorted(maps.Keys(knownNames))); near != "" {
		return e.WithHint("Did you mean '%s'?", near)
	}
	return e.WithHint("Options that can be given: %s.", strings.Join(builtNames(), ", "))
}

// elsewhere are options for which there is a statement.
var elsewhere = map[string]string{
	"connector":         "Leave it out: every table is stored in the log and in the warehouse.",
	"primary-key":       "Write PRIMARY KEY (…) in the column list.",
	"partition":         "Write PARTITIONED BY (…).",
	"path":              "Leave it out: a table lies in the folder of its database.",
	"auto-create":       "Leave it out.",
	"scan.mode":         "Leave it out; SET execution.runtime_mode = streaming follows a table.",
	"merge-engine.name": "Write 'merge-engine'.",
}

// builtNames are the options worth naming in a hint.
func builtNames() []string {
	var names []string
	for k, o := range builtOptions {
		if !o.single {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names
}

// UserOptions are the options of a table that a client can give: what SHOW
// CREATE TABLE prints.
func UserOptions(s *table.Schema) map[string]string {
	out := map[string]string{}
	_, own := s.Options[optTopicID]
	for k, v := range s.Options {
		if own && (strings.HasPrefix(k, ourPrefix) || k == optWriteOnly || k == "file.format") {
			continue
		}
		out[k] = v
	}
	return out
}
