package filestore

import (
	"dtstore/manifest"
	"dtstore/merge"
	"dtstore/table"
)

// sectionFile is a file in a section, and the run it comes from.
type sectionFile struct {
	entry *manifest.Entry
	run   int // index in the runs given: the smaller, the newer
	keys  merge.Range
}

// sections cuts the files of runs into groups without a common key range, in
// key order, and gives all files too.
func sections(s *table.Schema, runs []manifest.SortedRun) ([][]sectionFile, []sectionFile, error) {
	var files []sectionFile
	var ranges []merge.Range
	for i, r := range runs {
		for j := range r.Files {
			keys, err := keyRange(s, &r.Files[j].File)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, sectionFile{&r.Files[j], i, keys})
			ranges = append(ranges, keys)
		}
	}
	var out [][]sectionFile
	for _, sec := range merge.Sections(ranges) {
		var group []sectionFile
		for _, i := range sec {
			group = append(group, files[i])
		}
		out = append(out, group)
	}
	return out, files, nil
}
