package embedded

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// formatVersion is the version of kfake's files that we read and write. It
// stands in every one of them.
const formatVersion = 1

// topicID is a topic's id as kfake stores it: 16 bytes, in base64.
type topicID [16]byte

func (id topicID) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, id[:]), nil
}

func (id *topicID) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(b) != len(id) {
		return fmt.Errorf("topic id %q is not 16 bytes in base64", text)
	}
	copy(id[:], b)
	return nil
}

// String is the id as a UUID's canonical text.
func (id topicID) String() string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// topicFile is topics.json, as far as we need it.
type topicFile struct {
	Version int `json:"version"`
	Topics  []struct {
		Name       string            `json:"name"`
		ID         topicID           `json:"id"`
		Partitions int32             `json:"partitions"`
		Configs    map[string]string `json:"configs"`
	} `json:"topics"`
}

// snapshotFile is a partition's snapshot.json.
type snapshotFile struct {
	Version          int               `json:"version"`
	HighWatermark    int64             `json:"high_watermark"`
	LastStableOffset int64             `json:"last_stable_offset"`
	LogStartOffset   int64             `json:"log_start_offset"`
	Epoch            int32             `json:"epoch"`
	MaxTimestamp     int64             `json:"max_timestamp"`
	CreatedAt        time.Time         `json:"created_at"`
	AbortedTxns      []abortedTxn      `json:"aborted_txns,omitempty"`
	Segments         []snapshotSegment `json:"segments"`
}

type abortedTxn struct {
	ProducerID  int64 `json:"producer_id"`
	FirstOffset int64 `json:"first_offset"`
	LastOffset  int64 `json:"last_offset"` // the abort marker's
}

type snapshotSegment struct {
	BaseOffset int64 `json:"base_offset"`
	Size       int64 `json:"size"`
	MinEpoch   int32 `json:"min_epoch,omitempty"`
	MaxEpoch   int32 `json:"max_epoch,omitempty"`
}

// logPartition is one partition that topics.json names.
type logPartition struct {
	TopicPartition
	id        topicID
	compacted bool // by key: its offsets have gaps, and kfake rewrites its files
}

// partitionDir is the name of a partition's folder.
func partitionDir(tp TopicPartition) string {
	return url.PathEscape(tp.Topic) + "-" + strconv.Itoa(int(tp.Partition))
}

// maxPartitions bounds what a damaged topics.json can make us allocate.
const maxPartitions = 1 << 20

// readTopics reads which partitions there are. dir is kfake's folder; one
// that was never opened has none.
func readTopics(dir string) ([]logPartition, error) {
	var meta struct {
		Version int `json:"version"`
	}
	found, err := readJSON(filepath.Join(dir, "meta.json"), &meta)
	if err != nil {
		return nil, err
	}
	if !found {
		// kfake would start anew, and write an empty topics.json.
		if names, _ := os.ReadDir(filepath.Join(dir, "partitions")); len(names) > 0 {
			return nil, fmt.Errorf("log directory %s holds partitions but no meta.json: restore the file, or move the directory away to start with an empty log", dir)
		}
		return nil, nil
	}
	if err := checkVersion(filepath.Join(dir, "meta.json"), meta.Version); err != nil {
		return nil, err
	}
	var topics topicFile
	found, err = readJSON(filepath.Join(dir, "topics.json"), &topics)
	if err != nil || !found {
		return nil, err
	}
	if err := checkVersion(filepath.Join(dir, "topics.json"), topics.Version); err != nil {
		return nil, err
	}
	return topics.partitions()
}

func (f *topicFile) partitions() ([]logPartition, error) {
	var all []logPartition
	for _, t := range f.Topics {
		if t.Partitions < 0 || int(t.Partitions)+len(all) > maxPartitions {
			return nil, fmt.Errorf("topics.json: topic %s has %d partitions", t.Name, t.Partitions)
		}
		for p := range t.Partitions {
			all = append(all, logPartition{
				TopicPartition: TopicPartition{t.Name, p},
				id:             t.ID,
				compacted:      strings.Contains(t.Configs["cleanup.policy"], "compact"),
			})
		}
	}
	return all, nil
}

// checkVersion refuses files that another version of kfake wrote.
func checkVersion(path string, version int) error {
	if version == formatVersion {
		return nil
	}
	return fmt.Errorf("%s is of format version %d and this server reads version %d: open it with the server version that wrote it", path, version, formatVersion)
}

// readJSON decodes a file; found is false if there is none.
func readJSON(path string, v any) (found bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}

// writeFile replaces a file; a reader sees the old or the new one. With sync
// it is on the disk on return (its name after the folder's next sync).
func writeFile(path string, body []byte, sync bool) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// An entry log (pids.log, groups.log, our notes) is a list of framed entries:
// length (LE32, of what follows the checksum), CRC-32C of the same (LE32),
// version (LE16), data.
const entryHeaderBytes = 10

// appendEntry appends a framed entry.
func appendEntry(dst, data []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, entryHeaderBytes)...)
	dst = append(dst, data...)
	e := dst[at:]
	binary.LittleEndian.PutUint32(e, uint32(2+len(data)))
	binary.LittleEndian.PutUint16(e[8:], formatVersion)
	binary.LittleEndian.PutUint32(e[4:], crc32.Checksum(e[8:], castagnoli))
	return dst
}

// readEntries calls fn for each whole entry and returns where the good part
// ends: what follows was torn by a crash.
func readEntries(b []byte, fn func(version int, data []byte) error) (good int, err error) {
	for rest := b; len(rest) >= entryHeaderBytes; rest = b[good:] {
		n := int64(binary.LittleEndian.Uint32(rest))
		if n < 2 || n > int64(len(rest)-8) {
			break
		}
		body := rest[8 : 8+n]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(rest[4:]) {
			break
		}
		if err := fn(int(binary.LittleEndian.Uint16(body)), body[2:]); err != nil {
			return good, err
		}
		good += int(8 + n)
	}
	return good, nil
}

// mendEntryLog cuts the torn end off one of kfake's entry logs. kfake skips
// such an end when it reads but appends behind it, so that whatever it writes
// from then on is lost at the next opening.
func mendEntryLog(path string) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	good, err := readEntries(b, func(version int, _ []byte) error { return checkVersion(path, version) })
	if err != nil || good == len(b) {
		return err
	}
	return os.Truncate(path, int64(good))
}

// pidEntry is an entry of pids.log.
type pidEntry struct {
	Type   string `json:"type"`
	PID    int64  `json:"pid"`
	Epoch  int16  `json:"epoch"`
	Commit *bool  `json:"commit,omitempty"`
}

// fence tells kfake how the seal ended transactions. A client that is still
// alive and asks to commit one that was aborted finds its epoch gone.
func fence(path string, ended map[producer]bool) error {
	if len(ended) == 0 {
		return nil
	}
	var buf []byte
	for p, commit := range ended {
		e := pidEntry{Type: "endtx", PID: p.id, Epoch: p.epoch, Commit: &commit}
		if !commit && e.Epoch < 1<<15-1 {
			e.Epoch++
		}
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		buf = appendEntry(buf, data)
	}
	return appendFile(path, buf, true)
}

// appendFile appends to a file, which need not exist.
func appendFile(path string, body []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// parseTopicID reads an id's canonical text.
func parseTopicID(s string) (topicID, error) {
	var id topicID
	b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(s), []byte("-"), nil)))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("topic id %q is no uuid", s)
	}
	return topicID(b), nil
}
