package manifest

import "fmt"

// Fold returns the live files: the added ones of base and more that neither deletes
// (paimon-format 4.3), in their order. A file added twice, or deleted without having been
// added, is an error: the entries are not those of a whole table.
//
// Entries may come in any order: every identity is added once and deleted at most once.
func Fold(base []Entry, more ...Entry) ([]Entry, error) {
	live, lone, err := cancel(base, more)
	if err != nil {
		return nil, err
	}
	for _, e := range lone {
		return nil, fmt.Errorf("file %s of bucket %d level %d is deleted but was never added", e.File.Name, e.Bucket, e.File.Level)
	}
	return live, nil
}

// Merged returns what entries come to: a file added and deleted among them is in neither role,
// a lone deletion stays. The added come first, in their order.
func Merged(entries []Entry) ([]Entry, error) {
	live, lone, err := cancel(entries, nil)
	if err != nil {
		return nil, err
	}
	return append(live, lone...), nil
}

// cancel pairs each deletion with its addition and returns what is left of both.
func cancel(lists ...[]Entry) (live, lone []Entry, err error) {
	adds, deletes := 0, 0
	for _, list := range lists {
		for i := range list {
			if list[i].Kind == Delete {
				deletes++
			} else {
				adds++
			}
		}
	}
	// deleted[id] is true until the addition of id is met.
	deleted := make(map[string]bool, deletes)
	for _, list := range lists {
		for i := range list {
			if e := &list[i]; e.Kind == Delete {
				id := e.Identity()
				if deleted[id] {
					return nil, nil, fmt.Errorf("file %s of bucket %d level %d is deleted twice", e.File.Name, e.Bucket, e.File.Level)
				}
				deleted[id] = true
			}
		}
	}
	seen := make(map[string]struct{}, adds)
	live = make([]Entry, 0, max(adds-deletes, 0))
	for _, list := range lists {
		for i := range list {
			e := &list[i]
			if e.Kind == Delete {
				continue
			}
			id := e.Identity()
			if _, twice := seen[id]; twice {
				return nil, nil, fmt.Errorf("file %s of bucket %d level %d is added twice", e.File.Name, e.Bucket, e.File.Level)
			}
			seen[id] = struct{}{}
			if deleted[id] {
				deleted[id] = false
				continue
			}
			live = append(live, *e)
		}
	}
	for _, list := range lists {
		for i := range list {
			if list[i].Kind == Delete && deleted[list[i].Identity()] {
				lone = append(lone, list[i])
			}
		}
	}
	return live, lone, nil
}
