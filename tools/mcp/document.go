package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/net/safehttp"
	"hob/tools"
	"hob/tools/mcp/openapi"
)

// documentServer offers the operations of an OpenAPI document ([openapi.NAME]) as an MCP server in
// this process, so that pins, held-back tools, effects and commands work as for other servers.
type documentServer struct {
	s      *server
	server *mcp.Server
	client *http.Client // follows no redirects
	base   *url.URL

	mu      sync.Mutex
	digest  [sha256.Size]byte // digest of the document whose operations are offered
	names   []string
	skipped map[string]string
}

// documentTransport starts the document server in this process.
func (s *server) documentTransport(ctx context.Context, ses *session) (mcp.Transport, error) {
	network, err := s.m.opt.Network.Named(s.cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("openapi.%s.url: %w", s.cfg.Name, err)
	}
	base, err := url.Parse(s.cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("openapi.%s.url: %w", s.cfg.Name, err)
	}
	d := &documentServer{
		s: s, base: base,
		server: mcp.NewServer(&mcp.Implementation{Name: s.cfg.Name, Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}}),
		client: safehttp.NewStreamingClient(&safehttp.Transport{Client: network, MaxLine: maxMessage, Wait: s.cfg.Timeout.Duration}),
	}
	if _, err := d.reloadDocument(ctx); err != nil {
		return nil, err
	}
	near, far := mcp.NewInMemoryTransports()
	s.m.work.Go(func() { _ = d.server.Run(s.m.life, far) }) // ends with the connection
	ses.reload = d.reloadDocument
	return near, nil
}

// reloadDocument reads the document and offers its operations. It returns the reasons why
// operations are unusable, keyed by their names.
func (d *documentServer) reloadDocument(ctx context.Context) (map[string]string, error) {
	text, err := d.readDocument(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the document %s: %w; correct openapi.%s.document", d.s.cfg.Document, err, d.s.cfg.Name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	digest := sha256.Sum256(text)
	if digest == d.digest {
		return maps.Clone(d.skipped), nil
	}
	list, skipped, err := openapi.Parse(text, openapi.Reserved{Headers: lowerNames(d.s.cfg.Headers), Query: lowerNames(d.s.cfg.Query)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.s.cfg.Document, err)
	}
	d.server.RemoveTools(d.names...)
	d.digest, d.names, d.skipped = digest, nil, skipped
	taken := map[string]string{}
	for _, o := range list {
		if other := taken[tools.Confusable(o.Name)]; other != "" {
			skipped[o.Name] = "its name equals or resembles the name of another operation: " + other
			continue
		}
		taken[tools.Confusable(o.Name)] = o.Method + " " + o.Path
		if err := d.offerOperation(o); err != nil {
			skipped[o.Name] = err.Error()
			continue
		}
		d.names = append(d.names, o.Name)
	}
	return maps.Clone(skipped), nil
}

// offerOperation adds an operation to the server. It recovers from the SDK's panic on an invalid
// schema, because the schema comes from the document.
func (d *documentServer) offerOperation(o openapi.Operation) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its schema is not valid: %v", r)
		}
	}()
	d.server.AddTool(&mcp.Tool{Name: o.Name, Description: o.Description, InputSchema: o.Schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := d.callOperation(ctx, o, r.Params.Arguments)
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	return nil
}

// callOperation sends the request of a call with the configured secrets.
func (d *documentServer) callOperation(ctx context.Context, o openapi.Operation, raw json.RawMessage) (string, error) {
	args := map[string]any{}
	if len(raw) > 0 {
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		if err := dec.Decode(&args); err != nil {
			return "", fmt.Errorf("the arguments are not a JSON object: %w", err)
		}
	}
	t := openapi.Target{Base: d.base, Client: d.client, Headers: map[string]string{}, Query: map[string]string{}}
	for _, part := range []struct {
		key      string
		from, to map[string]string
	}{{"headers", d.s.cfg.Headers, t.Headers}, {"query", d.s.cfg.Query, t.Query}} {
		for name, ref := range part.from {
			v, err := d.s.m.opt.Secret(ctx, ref)
			if err != nil {
				return "", fmt.Errorf("openapi.%s.%s.%s: %w", d.s.cfg.Name, part.key, name, err)
			}
			part.to[name] = v
		}
	}
	return t.Call(ctx, o, args)
}

// readDocument returns the text of the document.
func (d *documentServer) readDocument(ctx context.Context) ([]byte, error) {
	at := d.s.cfg.Document
	if strings.Contains(at, "://") {
		network, err := d.s.m.opt.Network.Named(at)
		if err != nil {
			return nil, err
		}
		resp, err := network.Fetch(ctx, safehttp.Request{URL: at, MaxBody: openapi.MaxDocument})
		if err != nil {
			return nil, err
		}
		if resp.Status != http.StatusOK {
			return nil, fmt.Errorf("the server answered with HTTP %d", resp.Status)
		}
		return resp.Body, nil
	}
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the document is not a regular file")
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, openapi.MaxDocument+1))
}

// readsOnly reports whether a tool of a document sends GET or HEAD. The tool's pinned description
// begins with the HTTP method.
func readsOnly(spec toolSpec) bool {
	return strings.HasPrefix(spec.Description, http.MethodGet+" /") || strings.HasPrefix(spec.Description, http.MethodHead+" /")
}

func lowerNames(m map[string]string) []string {
	var out []string
	for name := range m {
		out = append(out, strings.ToLower(name))
	}
	slices.Sort(out)
	return out
}
