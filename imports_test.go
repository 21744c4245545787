package dtstore_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// allowed is the architecture: which of our packages a package may import.
// A new arrow is a design change: make it on purpose, in its own commit.
var allowed = map[string]string{
	"table":              "", // the words; imports nothing of ours
	"objstore":           "",
	"objstore/s3":        "objstore",
	"objstore/fault":     "objstore",
	"objstore/storetest": "objstore",
	"merge":              "table",
	"memtable":           "merge table",
	"sql":                "table",
	"wire":               "table",
	"logstore":           "table",
	"logstore/embedded":  "table",
	"manifest":           "objstore table",
	"snapshot":           "manifest objstore table",
	"catalog":            "logstore objstore snapshot table",
	"filestore":          "manifest merge objstore table",
	"compaction":         "filestore manifest merge table",
	"bucket":             "catalog compaction filestore logstore manifest memtable merge snapshot table",
	"planner":            "catalog manifest snapshot sql table",
	"scan":               "filestore logstore manifest memtable merge planner table", // runs and groups are the words of a plan
	"exec":               "planner scan table",
	"session":            "catalog exec logstore manifest memtable merge planner scan snapshot sql table wire", // a transaction's changes are memtables laid over the tail
}

// heavy dependencies stay in one room each.
var heavy = map[string]string{
	"github.com/jackc/pgproto3/v2":            "wire",
	"github.com/duckdb/duckdb-go/v2":          "exec",
	"github.com/duckdb/duckdb-go-bindings":    "exec",
	"github.com/aws/aws-sdk-go-v2/service/s3": "objstore/s3",
	"github.com/twmb/franz-go/pkg/kfake":      "logstore/embedded",
	"github.com/pingcap/tidb/pkg/parser":      "sql",
	"github.com/parquet-go/parquet-go":        "filestore",
}

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for dec.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, "dtstore/")
		list, ruled := allowed[name]
		free := !ruled && (name == "dtstore" || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "tests/"))
		if !ruled && !free {
			t.Errorf("package %s is not in the architecture: add it to the table on purpose", name)
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, "dtstore/"); ok && !free && !strings.Contains(" "+list+" ", " "+ours+" ") {
				t.Errorf("%s imports %s, which the architecture does not allow", name, ours)
			}
			for dep, home := range heavy {
				if (imp == dep || strings.HasPrefix(imp, dep+"/")) && name != home && !free {
					t.Errorf("%s imports %s, which belongs in %s alone", name, imp, home)
				}
			}
		}
		seen++
	}
	if seen < 3 {
		t.Fatalf("only %d packages listed", seen)
	}
}
