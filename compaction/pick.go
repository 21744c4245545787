package compaction

import (
	"dtstore/manifest"
)

// Policy is when and what to compact. The zero value is the format's default.
type Policy struct {
	Trigger          int // runs of a bucket that start a compaction; 0 means 5
	SizeRatio        int // percent by which a run may be smaller than what is newer; 0 means 1
	MaxAmplification int // percent of the oldest run that all others may reach; 0 means 200
	Levels           int // number of levels; 0 means Trigger+1
}

// DefaultTrigger is num-sorted-run.compaction-trigger when the table sets none.
const DefaultTrigger = 5

func (p Policy) defaults() Policy {
	if p.Trigger == 0 {
		p.Trigger = DefaultTrigger
	}
	if p.SizeRatio == 0 {
		p.SizeRatio = 1
	}
	if p.MaxAmplification == 0 {
		p.MaxAmplification = 200
	}
	if p.Levels == 0 {
		p.Levels = p.Trigger + 1
	}
	return p
}

// Unit is one compaction: whole runs, next to each other in age, newest first.
type Unit struct {
	Runs            []manifest.SortedRun
	Output          int  // level of what is written
	DropRetractions bool // nothing older lies below: deletions have done their work
}

// Pick names the runs to merge next, given all runs of a bucket, newest first
// as manifest.Runs orders them. It reads no clock and no store: all of its
// behaviour is in testdata/pick.
func (p Policy) Pick(runs []manifest.SortedRun) (Unit, bool) {
	p = p.defaults()
	n := len(runs)
	if n < p.Trigger || n == 0 {
		return Unit{}, false
	}
	var newer int64
	for _, r := range runs[:n-1] {
		newer += r.Size()
	}
	if newer*100 > int64(p.MaxAmplification)*runs[n-1].Size() {
		return p.unit(runs, n)
	}
	if k := p.bySize(runs, 1); k > 1 {
		return p.unit(runs, k)
	}
	if n > p.Trigger {
		return p.unit(runs, p.bySize(runs, n-p.Trigger+1))
	}
	return Unit{}, false
}

// Full names all runs. False if there is nothing to gain: no run, or one at
// the highest level without retractions.
func (p Policy) Full(runs []manifest.SortedRun) (Unit, bool) {
	return p.defaults().unit(runs, len(runs))
}

// bySize extends a pick of the newest k runs by older ones while these are not
// larger than what is picked, with SizeRatio of tolerance.
func (p Policy) bySize(runs []manifest.SortedRun, k int) int {
	var sum int64
	for _, r := range runs[:k] {
		sum += r.Size()
	}
	for k < len(runs) && sum*int64(100+p.SizeRatio) >= 100*runs[k].Size() {
		sum += runs[k].Size()
		k++
	}
	return k
}

// unit is the compaction of the newest k runs, extended where level 0 would
// otherwise be its output.
func (p Policy) unit(runs []manifest.SortedRun, k int) (Unit, bool) {
	if k == 0 {
		return Unit{}, false
	}
	top := max(p.Levels-1, runs[len(runs)-1].Level)
	output := top
	if k < len(runs) {
		if output = max(runs[k].Level-1, 0); output == 0 {
			// Level 0 cannot be written: take all of it, and the first run below.
			for k < len(runs) && runs[k].Level == 0 {
				k++
			}
			output = top
			if k < len(runs) {
				output = runs[k].Level
				if k++; k == len(runs) {
					output = top
				}
			}
		}
	}
	u := Unit{Runs: runs[:k:k], Output: output, DropRetractions: output >= runs[len(runs)-1].Level}
	if k == 1 && runs[0].Level == output && !(u.DropRetractions && retracts(runs[0])) {
		return Unit{}, false
	}
	return u, true
}

// retracts says whether a run may hold rows of kind -U or -D.
func retracts(r manifest.SortedRun) bool {
	for i := range r.Files {
		if mayRetract(r.Files[i].File) {
			return true
		}
	}
	return false
}

// mayRetract: an absent count means "maybe some".
func mayRetract(f manifest.File) bool { return f.DeleteRows == nil || *f.DeleteRows > 0 }

// PickAppend names the small files of one group of an append table to join, in
// the order of their rows: neighbours below 7/10 of the target size, when at
// least minFiles of them are worth one new file. Files are given in any order.
func PickAppend(files []manifest.SortedRun, targetBytes int64, minFiles int) []Unit {
	var units []Unit
	var small []manifest.Entry
	var bytes int64
	flush := func() {
		if len(small) >= max(minFiles, 2) {
			units = append(units, Unit{Runs: []manifest.SortedRun{{Files: small}}})
		}
		small, bytes = nil, 0
	}
	for _, f := range inOrder(files) {
		if f.File.Size*10 >= targetBytes*7 {
			flush()
			continue
		}
		small = append(small, f)
		if bytes += f.File.Size; bytes >= targetBytes {
			flush()
		}
	}
	flush()
	return units
}
