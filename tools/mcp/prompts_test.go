package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/config"
	"hob/platform/net/safehttp"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/tools/mcp"
)

// The prompts of a server are known after the first connection and are loaded on demand. Prompts
// that need arguments are omitted.
func TestPrompts_ServeAsSkills(t *testing.T) {
	srv := sdk.NewServer(&sdk.Implementation{Name: "review", Version: "1"}, nil)
	say := func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Review like this."}}}}, nil
	}
	srv.AddPrompt(&sdk.Prompt{Name: "check", Description: "Reviews a pull request"}, say)
	srv.AddPrompt(&sdk.Prompt{Name: "with-argument", Arguments: []*sdk.PromptArgument{{Name: "x", Required: true}}}, say)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil))
	t.Cleanup(web.Close)
	dir := t.TempDir()
	st, err := storetest.Open(t.Context(), filepath.Join(dir, "hob.db"), mcp.Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	catalog, err := tools.NewCatalog()
	if err != nil {
		t.Fatal(err)
	}
	conf, err := config.Parse("config.toml", []byte("[mcp.servers.rev]\nurl = \""+web.URL+"\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	network, err := safehttp.New(safehttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := mcp.Open(t.Context(), mcp.Options{
		Store: st, Catalog: catalog, Started: conf, Config: func() *config.Config { return conf }, Network: network, Dir: dir, Version: "1",
		Secret: func(_ context.Context, ref string) (string, error) { return ref, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if len(m.Prompts()) != 0 {
		t.Error("Prompts() lists prompts of a server that never connected")
	}
	if s, err := m.TestMCP(t.Context(), "rev"); err != nil {
		t.Fatalf("TestMCP = %+v, %v", s, err)
	}
	list := m.Prompts()
	if len(list) != 1 || list[0].Name != "rev__check" || list[0].Server != "rev" {
		t.Fatalf("Prompts = %+v", list)
	}
	if text, err := list[0].Load(t.Context()); err != nil || !strings.Contains(text, "Review like this.") {
		t.Errorf("Load = %q, %v", text, err)
	}
}
