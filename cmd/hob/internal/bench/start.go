package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func startUp(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	h, err := newHome(o, nil)
	if err != nil {
		return nil, err
	}
	defer h.removeDir()
	var took []time.Duration
	for range r.starts + 1 {
		if err := h.startProgram(ctx); err != nil {
			return nil, err
		}
		took = append(took, h.took)
		if err := h.stopProgram(ctx); err != nil {
			return nil, err
		}
	}
	first, again := took[0], took[1:] // the first start creates the database
	slices.Sort(again)
	return []Figure{
		{Name: "ready", Value: milliseconds(percentileAt(again, 50)), Unit: "ms", Target: 40, About: "from process start until it accepts messages, median"},
		{Name: "ready_first", Value: milliseconds(first), Unit: "ms", About: "the same in an empty home, which creates the database"},
	}, nil
}

// mcpServers is the number of MCP servers with which startWithServers starts the program, and
// mcpTools the number of tools of each.
const mcpServers, mcpTools = 10, 30

// mcpScript is an MCP server. Its first argument is a file with its tools.
const mcpScript = `while read -r line; do
	id=$(echo "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}' ;;
	*'"method":"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":'"$(cat "$1")"'}}' ;;
	*'"id":'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown"}}' ;;
	esac
done
`

// startWithServers alternately starts the program without MCP servers and with 10 servers whose
// tools the program knows from an earlier connection.
func startWithServers(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	if runtime.GOOS == "windows" { // Windows has no shell for the servers
		return nil, nil
	}
	plain, err := newHome(o, nil)
	if err != nil {
		return nil, err
	}
	defer plain.removeDir()
	if err := errors.Join(plain.startProgram(ctx), plain.stopProgram(ctx)); err != nil { // the first start creates the database
		return nil, err
	}
	script, list := filepath.Join(plain.dir, "server.sh"), filepath.Join(plain.dir, "tools.json")
	tools := make([]string, mcpTools)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"item_%02d","description":"Changes item %d of a list.","inputSchema":{"type":"object","properties":{"item":{"type":"string","description":"the item"},"count":{"type":"integer"}}}}`, i, i)
	}
	if err := errors.Join(os.WriteFile(script, []byte(mcpScript), 0o600), os.WriteFile(list, []byte("["+strings.Join(tools, ",")+"]"), 0o600)); err != nil {
		return nil, err
	}
	for n := range mcpServers {
		o.more += fmt.Sprintf("[mcp.servers.bench%d]\ncommand = \"/bin/sh\"\nargs = [%q, %q]\nsandbox = false\n", n, script, list)
	}
	many, err := newHome(o, nil)
	if err != nil {
		return nil, err
	}
	defer many.removeDir()
	if err := learnTools(ctx, many); err != nil {
		return nil, err
	}
	var without, with []time.Duration
	for range 2 * r.starts {
		for _, h := range []*home{plain, many} {
			if err := errors.Join(h.startProgram(ctx), h.stopProgram(ctx)); err != nil {
				return nil, err
			}
		}
		without, with = append(without, plain.took), append(with, many.took)
	}
	slices.Sort(without)
	slices.Sort(with)
	return []Figure{{
		Name: "ready_mcp", Value: milliseconds(percentileAt(with, 50) - percentileAt(without, 50)), Unit: "ms", Target: 5,
		About: fmt.Sprintf("additional time until Hob accepts messages with %d MCP servers and their %d tools, difference of medians", mcpServers, mcpServers*mcpTools),
	}}, nil
}

// learnTools starts the program and its servers, and stops it when it knows their tools.
func learnTools(ctx context.Context, h *home) error {
	if err := h.startProgram(ctx); err != nil {
		return err
	}
	for n := range mcpServers {
		var s struct{ Tools int }
		if err := h.postJSON(ctx, fmt.Sprintf("/api/v1/mcp/servers/bench%d/test", n), struct{}{}, &s); err != nil || s.Tools != mcpTools {
			return errors.Join(fmt.Errorf("start an MCP server: %d tools instead of %d: %w", s.Tools, mcpTools, err), h.stopProgram(ctx))
		}
	}
	return h.stopProgram(ctx)
}

// firstRequest repeatedly starts the program, sends hello when it accepts messages, and measures
// the time until the model receives the request.
func firstRequest(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	m, err := newModel()
	if err != nil {
		return nil, err
	}
	defer m.stopServing(ctx)
	h, err := newHome(o, m)
	if err != nil {
		return nil, err
	}
	defer h.removeDir()
	var took []time.Duration
	var size int
	for i := range r.starts + 1 {
		m.forgetFirst()
		if err := h.startProgram(ctx); err != nil {
			return nil, err
		}
		err := h.sendAndWait(ctx, fmt.Sprintf("first-%d", i), "hello")
		if err := errors.Join(err, h.stopProgram(ctx)); err != nil {
			return nil, err
		}
		when, body := m.firstRequest()
		size = len(body)
		if i > 0 { // the first start creates the database
			took = append(took, when.Sub(h.began))
		}
	}
	slices.Sort(took)
	return []Figure{
		{Name: "first_request", Value: milliseconds(percentileAt(took, 50)), Unit: "ms", Target: 40, About: "from process start until the model receives \"hello\", median"},
		{Name: "prompt_hello", Value: float64(size) / 4, Unit: "tokens", Target: 1800, About: "size of the request for \"hello\" with the whole tool catalog available, bytes / 4"},
	}, nil
}
