package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	c, err := parse(nil, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:7432" || c.Data != "./dtdata" || c.Warehouse != "dtdata/warehouse" || !c.embedded() ||
		c.KafkaListen != "127.0.0.1:7492" || c.TopicPrefix != "" || c.CheckpointInterval != time.Minute || c.Memory.percent != 50 {
		t.Errorf("%+v", c)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("DTSTORE_CHECKPOINT_INTERVAL", "3s")
	t.Setenv("DTSTORE_S3_PATH_STYLE", "true")
	t.Setenv("DTSTORE_MEMORY", "2GB")
	c, err := parse([]string{"--memory", "4GiB"}, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil || c.CheckpointInterval != 3*time.Second || !c.S3Path || c.Memory.bytes != 4<<30 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestFaultsOfTheCommandLine(t *testing.T) {
	_, err := parse([]string{"--listen", "0.0.0.0:1", "--kafka-listen", "[::]:1", "--topic-prefix", "a b", "--checkpoint-interval", "0s", "--warehouse", "gs://x/y"}, &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"--listen 0.0.0.0:1", "--kafka-listen [::]:1", "--topic-prefix", "--checkpoint-interval", "--warehouse"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for _, ok := range []string{"127.0.0.1:0", "[::1]:7432", "localhost:7432", "127.3.4.5:1"} {
		if err := loopback("--listen", ok); err != nil {
			t.Error(err)
		}
	}
	var out bytes.Buffer
	var a asked
	if _, err := parse([]string{"--help"}, &out, &bytes.Buffer{}); !errors.As(err, &a) || a.status != 0 {
		t.Errorf("--help: %v", err)
	}
}

// Every flag can be given by the environment, and its variable is named after it.
func TestEveryFlagHasItsVariable(t *testing.T) {
	var out bytes.Buffer
	_, _ = parse([]string{"--help"}, &out, &bytes.Buffer{})
	flags := 0
	help := strings.Join(strings.Fields(out.String()), " ")
	for word := range strings.FieldsSeq(help) {
		name, ok := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if name = strings.TrimRight(name, ".,"); !ok || name == "" || name == "help" || name == "version" {
			continue
		}
		flags++
		if v := "$DTSTORE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")); !strings.Contains(help, v) {
			t.Errorf("--%s has no %s", name, v)
		}
	}
	if flags < 15 {
		t.Errorf("only %d flags in:\n%s", flags, out.String())
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{"1": {bytes: 1}, "4GB": {bytes: 4 << 30}, "512 MiB": {bytes: 512 << 20}, "1.5g": {bytes: 3 << 29}, "25%": {percent: 25}, "0": {}} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "101%", "0%", "NaN", "1e30", "Inf", "nan%", "GB"} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %+v", text, s)
		}
	}
}

func TestShares(t *testing.T) {
	for _, machine := range []int64{512 << 20, 2 << 30, 16 << 30, 1 << 40} {
		c := config{Memory: size{percent: 50}}
		s, err := c.cut(machine)
		if err != nil {
			t.Fatal(err)
		}
		if s.total != machine/2 || s.memtables+s.engine+s.caches+s.transaction > s.total || s.engine*2 != s.total {
			t.Errorf("%d: %+v", machine, s)
		}
	}
	c := config{Memory: size{bytes: 1 << 30}, EngineMemory: size{percent: 50}}
	if _, err := c.cut(16 << 30); err == nil {
		t.Error("an engine that is larger than the budget")
	}
	if n := machineMemory(); n < 64<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}
