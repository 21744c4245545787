package planner

import (
	"strings"

	"dtstore/manifest"
	"dtstore/table"
)

// CheckEntries refuses data files that only their entries tell us we cannot
// read: another format, a place outside the table's folder, rows that were
// never moved to their bucket, files that hold only some columns.
func CheckEntries(live []manifest.Entry) error {
	for i := range live {
		f := &live[i].File
		refuse := func(what string) error {
			return table.Errorf("0A000", "data file %s cannot be read: %s is not supported yet", f.Name, what)
		}
		switch {
		case !strings.HasSuffix(f.Name, ".parquet"):
			return refuse("the file format " + f.Name[strings.LastIndexByte(f.Name, '.')+1:])
		case f.ExternalPath != nil && *f.ExternalPath != "":
			return refuse("a file outside the table's folder")
		case live[i].Bucket < 0:
			return refuse("a postponed bucket")
		case f.WriteCols != nil:
			return refuse("a file with some of the columns")
		}
	}
	return nil
}
