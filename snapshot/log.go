package snapshot

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"dtstore/table"
)

// Our keys in a snapshot's properties (seam C5).
const (
	propVersion = "dtstore.version" // format of these properties
	propLog     = "dtstore.log"     // the log's identity, and how far it is covered
	propCommit  = "dtstore.commit"  // the commit's uuid
	propParent  = "dtstore.parent"  // dtstore.commit of the snapshot below, "" if that is another engine's
	propDropped = "dtstore.dropped" // "true" in the last snapshot of a dropped table
)

// ourVersion is the format of our properties. A table with a higher one was written by a newer
// dtstore and is neither read nor written.
const ourVersion = 1

// LogID is the identity of a table's log: its topic id in canonical text form. A table that is
// dropped and created again has another one.
type LogID string

// Covered says how far a bucket's log is in the table.
type Covered struct {
	To   table.Offset   // the first offset not covered
	Base table.Sequence // sequence of a change = Base + its offset
}

// logState is the JSON of dtstore.log.
type logState struct {
	TopicID    LogID                 `json:"topicId"`
	Partitions map[string]logCovered `json:"partitions"` // by log partition
}

type logCovered struct {
	To   int64 `json:"to"`
	Base int64 `json:"base"`
}

// Log returns the log's identity and what of each bucket is covered, as recorded in this very
// snapshot; false if another engine made it (then see [Table.Position]).
//
// The map is shared: not to be modified.
func (s *Snapshot) Log() (LogID, map[table.Bucket]Covered, bool) {
	if s.log == nil {
		return "", nil, false
	}
	return s.log.id, s.log.covered, true
}

// logRecord is what dtstore.log says.
type logRecord struct {
	id      LogID
	covered map[table.Bucket]Covered
}

// CommitID returns the uuid of the commit that made s; "" if another engine did.
func (s *Snapshot) CommitID() string { return s.Properties[propCommit] }

// Dropped tells whether s marks the end of its table.
func (s *Snapshot) Dropped() bool { return s.Properties[propDropped] == "true" }

func encodeLog(id LogID, covered map[table.Bucket]Covered) (string, error) {
	state := logState{id, make(map[string]logCovered, len(covered))}
	for b, c := range covered {
		state.Partitions[strconv.Itoa(int(b))] = logCovered{int64(c.To), int64(c.Base)}
	}
	text, err := json.Marshal(state)
	return string(text), err
}

func decodeLog(text string) (LogID, map[table.Bucket]Covered, error) {
	var state logState
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return "", nil, fmt.Errorf("property %s: %w", propLog, err)
	}
	if state.TopicID == "" {
		return "", nil, fmt.Errorf("property %s: no topicId", propLog)
	}
	covered := make(map[table.Bucket]Covered, len(state.Partitions))
	for name, c := range state.Partitions {
		b, err := strconv.ParseInt(name, 10, 32)
		if err != nil || b < 0 || strconv.FormatInt(b, 10) != name {
			return "", nil, fmt.Errorf("property %s: partition %q", propLog, name)
		}
		if c.To < 0 || c.To > math.MaxInt64/2 || c.Base < math.MinInt64/2 || c.Base > math.MaxInt64/2 {
			return "", nil, fmt.Errorf("property %s: partition %s to %d, base %d", propLog, name, c.To, c.Base)
		}
		covered[table.Bucket(b)] = Covered{table.Offset(c.To), table.Sequence(c.Base)}
	}
	return state.TopicID, covered, nil
}

func (s *Snapshot) checkProperties() error {
	if text, ok := s.Properties[propVersion]; ok {
		v, err := strconv.Atoi(text)
		if err != nil || v < 1 {
			return fmt.Errorf("property %s: %q", propVersion, text)
		}
		if v > ourVersion {
			return table.Errorf("0A000", "the table was written by a newer dtstore: its format is %d, this server knows %d", v, ourVersion).
				WithHint("Use a newer dtserver for this warehouse.")
		}
	}
	if text, ok := s.Properties[propLog]; ok {
		id, covered, err := decodeLog(text)
		if err != nil {
			return err
		}
		s.log = &logRecord{id, covered}
	}
	return nil
}
