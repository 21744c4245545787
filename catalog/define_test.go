package catalog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dtstore/catalog"
)

// TestDefine: what CREATE TABLE and SET take, and what they say to the rest.
//
//	create t
//	id BIGINT            a column
//	pk id                its primary key
//	by dt                its partition columns
//	with bucket=4        an option
//	comment text
func TestDefine(t *testing.T) {
	datadriven.Walk(t, "testdata/define", func(t *testing.T, path string) {
		var c *catalog.Catalog
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "create":
				def := parseDefinition(d)
				s, err := def.Schema()
				if err != nil {
					return says(err) + "\n"
				}
				if d.HasArg("file") {
					return string(catalog.EncodeSchema(s)) + "\n"
				}
				return options(s.Options) + "\n"
			case "set", "reset":
				if c == nil {
					c = open(t, goldenWarehouse(t), newLog())
					if _, err := c.CreateTable(t.Context(), keyed("public", "t")); err != nil {
						t.Fatal(err)
					}
				}
				set, reset := map[string]string{}, []string(nil)
				for line := range strings.SplitSeq(d.Input, "\n") {
					k, v, _ := strings.Cut(line, "=")
					if d.Cmd == "set" {
						set[k] = v
					} else {
						reset = append(reset, k)
					}
				}
				name := "public.t"
				if len(d.CmdArgs) > 0 {
					name = d.CmdArgs[0].String()
				}
				db, tab, _ := strings.Cut(name, ".")
				got, err := c.SetOptions(t.Context(), db, tab, set, reset)
				if err != nil {
					return says(err) + "\n"
				}
				return fmt.Sprintf("schema %d: %s\n", got.Schema.ID, options(catalog.UserOptions(got.Schema)))
			}
			t.Fatalf("no command %s", d.Cmd)
			return ""
		})
	})
}

func options(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}

func parseDefinition(d *datadriven.TestData) catalog.Definition {
	def := catalog.Definition{Database: "public", Options: map[string]string{}}
	if len(d.CmdArgs) > 0 {
		def.Name = d.CmdArgs[0].Key
	}
	for line := range strings.SplitSeq(d.Input, "\n") {
		if line == "" {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		list := strings.Split(strings.ReplaceAll(rest, " ", ""), ",")
		switch word {
		case "pk":
			def.PrimaryKey = list
		case "by":
			def.PartitionBy = list
		case "comment":
			def.Comment = rest
		case "with":
			k, v, _ := strings.Cut(rest, "=")
			def.Options[k] = v
		default:
			def.Fields = append(def.Fields, column(word, rest))
		}
	}
	return def
}
