package mcp_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/tools/mcp"
)

// BenchmarkOpen measures the time that 10 servers with 30 known tools each add to the start of Hob.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	st, err := storetest.Open(b.Context(), filepath.Join(dir, "hob.db"), mcp.Migrations(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	text := ""
	if err := st.Write(b.Context(), func(tx *store.Tx) error {
		for n := range 10 {
			text += fmt.Sprintf("[mcp.servers.s%d]\ncommand = \"/bin/true\"\n", n)
			for k := range 30 {
				spec := fmt.Sprintf(`{"name":"tool_%02d_x","description":"Does something with an item.","schema":{"type":"object","properties":{"item":{"type":"string","description":"the item"}}}}`, k)
				if _, err := tx.Exec(`INSERT INTO mcp_tools (server, tool, digest, spec, seen_at) VALUES (?, ?, '', ?, ?)`, fmt.Sprintf("s%d", n), fmt.Sprintf("tool_%02d_x", k), spec, store.Millis(time.Now())); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	c, err := config.Parse("config.toml", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		catalog, err := tools.NewCatalog()
		if err != nil {
			b.Fatal(err)
		}
		m, err := mcp.Open(b.Context(), mcp.Options{Store: st, Catalog: catalog, Started: c})
		if err != nil || len(catalog.All()) != 300 {
			b.Fatalf("%d tools, %v", len(catalog.All()), err)
		}
		_ = m.Close()
	}
}
