package manifest

// MergeOptions say when manifests are joined. The zero value is Paimon's defaults.
type MergeOptions struct {
	TargetBytes int64 // size to which manifests grow; 0 means 8 MiB
	FullBytes   int64 // bytes of small or deleting manifests that make a full merge; 0 means 16 MiB
	MinCount    int   // small manifests that make a minor merge; 0 means 30
}

func (o MergeOptions) filled() MergeOptions {
	if o.TargetBytes == 0 {
		o.TargetBytes = 8 << 20
	}
	if o.FullBytes == 0 {
		o.FullBytes = 16 << 20
	}
	if o.MinCount == 0 {
		o.MinCount = 30
	}
	return o
}

// Target is the size at which a manifest is closed and the next one begun.
func (o MergeOptions) Target() int64 { return o.filled().TargetBytes }

// PlanMerge says which manifests to join before a commit (paimon-format 12.4). list is in
// order, oldest first.
//
// Minor (full false): the parts, one after another, are the list; a part of several manifests
// becomes one, the others stay as they are. Full: parts[0] are the manifests to join whatever
// their order, parts[1] the large ones without deletions, which only change if a deletion in
// parts[0] meets one of their files; nothing but additions remains.
func PlanMerge(list []ListEntry, o MergeOptions) (parts [][]ListEntry, full bool) {
	o = o.filled()
	var join, stay []ListEntry
	var bytes int64
	for _, m := range list {
		if m.Size < o.TargetBytes || m.Deleted > 0 {
			join = append(join, m)
			bytes += m.Size
		} else {
			stay = append(stay, m)
		}
	}
	if bytes >= o.FullBytes {
		return [][]ListEntry{join, stay}, true
	}
	from, size := 0, int64(0)
	for i, m := range list {
		size += m.Size
		if size >= o.TargetBytes {
			parts = append(parts, list[from:i+1:i+1])
			from, size = i+1, 0
		}
	}
	rest := list[from:]
	if len(rest) >= o.MinCount {
		return append(parts, rest), false
	}
	for i := range rest {
		parts = append(parts, rest[i:i+1:i+1])
	}
	return parts, false
}
