package app

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/usage"
	"hob/tools"
	"hob/tools/mcp"
	"hob/tools/toolstest"
)

var update = flag.Bool("update", false, "write docs/prompt-cost.md and the golden requests")

// maxHello is the maximum size of the request for "hello", in tokens of four bytes.
const maxHello = 1800

// TestPromptCost measures what a request costs, and what a conversation of 50 turns does with and
// without the provider's cache. docs/prompt-cost.md has the figures; `go test
// ./cmd/hob/internal/app -run TestPromptCost -update` writes the page. The figures vary by a few
// bytes with the time of day in the prompt.
func TestPromptCost(t *testing.T) {
	skipRaced(t)
	page := costPage
	for mark, extra := range map[string][]tools.Tool{"@REAL@": nil, "@FIXTURE@": foreignTools(t), "@MCP@": mcpTools()} {
		rows, total := helloCost(t, extra)
		if total > maxHello {
			t.Errorf("\"hello\" costs %d tokens with %d more tools, want at most %d", total, len(extra), maxHello)
		}
		page = strings.Replace(page, mark, rows, 1)
	}
	prices, err := usage.NewPrices(nil)
	failOnError(t, err)
	page = strings.Replace(page, "@ASOF@", prices.AsOf(), 1)
	for _, k := range []struct {
		api                         llmtest.API
		mark, model, provider, host string
	}{
		{llmtest.Anthropic, "@ANTHROPIC@", "claude-sonnet-4-5", "anthropic", "api.anthropic.com"},
		{llmtest.OpenAI, "@OPENAI@", "gpt-5", "openai", "api.openai.com"},
	} {
		price, ok := prices.Of(llm.Info{Provider: k.provider, Model: k.model}, k.host)
		if !ok {
			t.Fatalf("%s has no price", k.model)
		}
		seen := billConversation(t, runConversation(t, k.api))
		if share := seen.cachedShare(); share < 0.9 {
			t.Errorf("%s: only %.3f of the sent bytes repeat the previous request", k.api, share)
		}
		page = strings.Replace(page, k.mark, seen.formatRows(k.model, price), 1)
	}
	t.Log(page)
	if *update {
		failOnError(t, os.WriteFile("../../../../docs/prompt-cost.md", []byte(page), 0o644))
	}
}

// foreignTools returns the tools of the fixture that Hob does not have.
func foreignTools(t *testing.T) []tools.Tool {
	t.Helper()
	home := t.TempDir()
	h := openScripted(t, home, "http://127.0.0.1:1", listPlayWays()[0], "")
	defer h.stop()
	var out []tools.Tool
	for _, x := range toolstest.Fixture(t, "../../../../tools/testdata/search/specs.txt") {
		if _, have := h.d.catalog.Get(x.Spec().Name); !have {
			out = append(out, x)
		}
	}
	return out
}

// mcpTools returns the tools of 10 MCP servers with 30 tools each.
func mcpTools() []tools.Tool {
	var out []tools.Tool
	for n := range 300 {
		out = append(out, toolstest.SpecOnly(tools.Spec{
			Name: fmt.Sprintf("server%d__tool_%02d_zebras", n/30, n%30), Category: mcp.Category, Foreign: true, Effects: tools.Read,
			Description: fmt.Sprintf("Returns the zebras of herd %d that match the query, newest first.", n),
			Schema: func() json.RawMessage {
				return json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words to find"},"limit":{"type":"integer"}},"required":["query"]}`)
			},
		}))
	}
	return out
}

// helloCost sends "hello" and measures the parts of the request.
func helloCost(t *testing.T, extra []tools.Tool) (rows string, total int) {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Hello!"}})
	var foreign []tools.Tool
	if len(extra) > 0 && extra[0].Spec().Foreign {
		foreign, extra = extra, nil
	}
	h := openScripted(t, t.TempDir(), model.URL, listPlayWays()[0], aloneConfig, extra...)
	defer h.stop()
	for server := range slices.Chunk(foreign, 30) {
		name, _, _ := strings.Cut(server[0].Spec().Name, tools.ForeignSeparator)
		failOnError(t, h.d.catalog.SetForeign("mcp:"+name, server))
	}
	if found := h.d.catalog.Search("zebras of a herd", 5); len(foreign) > 0 && !slices.ContainsFunc(found, func(x tools.Tool) bool { return x.Spec().Foreign }) {
		t.Error("the search does not find the tools of the MCP servers")
	}
	h.askHob("hello")
	r := model.Requests()[0]
	var body struct{ Tools, Messages []json.RawMessage }
	failOnError(t, json.Unmarshal(r.Body, &body))
	part := map[string]int{"rest of the request": len(r.Body), "user message, time and zone": len(body.Messages[len(body.Messages)-1]), "system block": len(body.Messages[0])}
	for i, raw := range body.Tools {
		what := "core tools"
		if strings.HasSuffix(r.Tools[i].Name, "_tool") || strings.HasSuffix(r.Tools[i].Name, "_tools") {
			what = "find_tools, use_tool"
		}
		part[what] += len(raw) + 1
	}
	for k, n := range part {
		if k != "rest of the request" {
			part["rest of the request"] -= n
		}
	}
	var b strings.Builder
	for _, k := range []string{"core tools", "find_tools, use_tool", "system block", "user message, time and zone", "rest of the request"} {
		fmt.Fprintf(&b, "| %s | %d | %.0f %% |\n", k, part[k]/4, 100*float64(part[k])/float64(len(r.Body)))
	}
	fmt.Fprintf(&b, "| all, with %d tools in the catalog, %d of them offered | %d | 100 %% |\n", len(h.d.catalog.All()), len(body.Tools)-2, len(r.Body)/4)
	every := len(r.Body) - part["core tools"]
	for _, x := range h.d.catalog.All() {
		s := x.Spec()
		every += len(s.Name) + len(s.Description) + len(s.Schema.Raw()) + len(`{"type":"function","function":{"name":"","description":"","parameters":}},`)
	}
	fmt.Fprintf(&b, "| cost of offering all of them | %d | |\n", every/4)
	return b.String(), len(r.Body) / 4
}

// talk is the number of turns in the measured conversation.
const talk = 50

// runConversation runs a conversation with tools and returns the requests to the model.
func runConversation(t *testing.T, api llmtest.API) []llmtest.Request {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		words := strings.Fields(r.LastUser)
		for i, step := range conversation[words[len(words)-1]] {
			if i == r.Round {
				return llmtest.Answer{Calls: []llmtest.Call{step}}, true
			}
		}
		return llmtest.Answer{Text: "That is done. The first of them comes up on Monday at nine, the other two follow on Wednesday; I have left the rest of the list as it was, and nothing else stands in the way of it."}, true
	}})
	h := openScripted(t, t.TempDir(), model.URL, playWay{api: api}, aloneConfig)
	defer h.stop()
	kinds := slices.Sorted(func(yield func(string) bool) {
		for k := range conversation {
			if !yield(k) {
				return
			}
		}
	})
	for i := range talk {
		h.askHob(fmt.Sprintf("Number %d: I have been thinking about the week, and what we said of it before still holds. Please look after the %s", i, kinds[i%len(kinds)]))
	}
	return model.Requests()
}

// conversation maps the last word of the owner's message to the calls of the scripted model, in
// order.
var conversation = map[string][]llmtest.Call{
	"news":    nil,
	"plants":  {{Name: "create_task", Args: `{"title":"water the plants","due":"tomorrow"}`}},
	"weather": nil,
	"list":    {{Name: "list_tasks", Args: `{}`}},
	"lunch": {
		{Name: "find_tools", Args: `{"query":"log an expense"}`},
		{Name: "use_tool", Args: `{"name":"log_expense","arguments":{"amount":12.5,"category":"food"}}`},
	},
}

const costPage = `# What a prompt costs

This page counts tokens as bytes / 4, which is within a few percent of any tokenizer. TestPromptCost runs the program against a scripted
model server, measures the parts of its requests and generates this page
(` + "`go test ./cmd/hob/internal/app -run TestPromptCost -update`" + `).

## "hello"

This table shows the request for "hello" in OpenAI's format, with the tools that Hob has:

| part | tokens | share |
|---|---:|---:|
@REAL@
This table shows the same request with additional tools from a test fixture, which Hob does not have:

| part | tokens | share |
|---|---:|---:|
@FIXTURE@
This table shows the same request with 300 tools of 10 MCP servers:

| part | tokens | share |
|---|---:|---:|
@MCP@
## A conversation of 50 turns

Three turns in five use tools. *Sent before* is the part at the beginning of a request that equals the previous request byte for byte; a cache
can save only this part. Anthropic caches up to the marks that Hob sets: after the tools, the system block, the part sent before and the whole
request. Anthropic bills cache writes at 1.25 times the price and cache reads at a tenth. OpenAI caches prompts of more than 1,024 tokens on its
own, in steps of 128, and bills cache reads at a tenth. The list prices are from @ASOF@ (autonomy/usage/prices.json). The figures assume
that each request follows while the cache is still valid (five minutes at Anthropic).

Anthropic's format:

| figure | value |
|---|---:|
@ANTHROPIC@
OpenAI's format:

| figure | value |
|---|---:|
@OPENAI@
`
