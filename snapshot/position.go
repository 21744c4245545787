package snapshot

import (
	"context"
	"errors"
	"maps"

	"dtstore/manifest"
	"dtstore/objstore"
	"dtstore/table"
)

// Position returns the log's identity and what of each bucket s covers: as recorded in s, or,
// where s was made by another engine, in the nearest snapshot below it that has our key. Then
// foreignAbove is true, and the bases are raised so that what the log has past the position is
// numbered above everything those engines wrote (architecture 3, seam E4).
//
// If no snapshot with our key is left it refuses: the offsets cannot be guessed.
func (t *Table) Position(ctx context.Context, s *Snapshot) (log LogID, covered map[table.Bucket]Covered, foreignAbove bool, err error) {
	var foreign []*Snapshot
	at := s
	for {
		var ok bool
		if log, covered, ok = at.Log(); ok {
			break
		}
		foreign = append(foreign, at)
		if at.ID == 1 {
			return "", nil, false, t.refuse(s)
		}
		below, err := t.Read(ctx, at.ID-1)
		if errors.Is(err, objstore.ErrNotExist) {
			return "", nil, false, t.refuse(s)
		}
		if err != nil {
			return "", nil, false, err
		}
		at = below
	}
	if len(foreign) == 0 {
		return log, covered, false, nil
	}
	covered = maps.Clone(covered)
	for _, f := range foreign {
		entries, err := t.DeltaEntries(ctx, f)
		if err != nil {
			return "", nil, false, err
		}
		raise(covered, entries)
	}
	return log, covered, true, nil
}

// raise lifts the bases so that the next offset of each bucket has a sequence above those of the
// added files.
func raise(covered map[table.Bucket]Covered, entries []manifest.Entry) {
	for i := range entries {
		e := &entries[i]
		c, ok := covered[e.Bucket]
		if !ok || e.Kind != manifest.Add {
			continue
		}
		c.Base = max(c.Base, e.File.MaxSeq+1-table.Sequence(c.To))
		covered[e.Bucket] = c
	}
}

func (t *Table) refuse(s *Snapshot) error {
	return table.Errorf("55000", "table %s: no snapshot from %d down says how far its log is covered", t.path, s.ID).
		WithDetail("Another engine has committed since, and the snapshots made by dtstore have been removed.").
		WithHint("Guessed offsets would lose or double rows. Put back a file of %s/snapshot that has the property %s, from a backup.", t.path, propLog)
}
