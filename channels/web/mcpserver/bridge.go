package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits of a Bridge.
const (
	maxLine   = 2 << 20 // bytes of one message of the program
	maxReply  = 64 << 20
	maxBridge = 16 // requests at the same time
	grace     = 2 * time.Second
)

// Bridge connects a program that speaks MCP on standard input and output to the endpoint of the
// daemon. It passes messages on and adds the HTTP headers that the revision needs.
type Bridge struct {
	// Do sends a request to the path /mcp of the daemon, with a token.
	Do func(r *http.Request) (*http.Response, error)
	// URL is the address of the endpoint.
	URL string
	In  io.Reader
	Out io.Writer

	mu       sync.Mutex
	session  string
	revision string                        // negotiated by initialize
	running  map[string]context.CancelFunc // keyed by the JSON of the request id
	failed   error

	out sync.Mutex
}

// message holds the fields of a JSON-RPC message that the bridge reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
	Result struct {
		Version string `json:"protocolVersion"`
	} `json:"result"`
}

func (m message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// Run passes messages on until the input ends, which is not an error, or the daemon is gone.
func (b *Bridge) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.running = map[string]context.CancelFunc{}
	var requests, streams sync.WaitGroup
	slots := make(chan struct{}, maxBridge)
	lines := bufio.NewScanner(b.In)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			b.writeError(nil, -32700, "the message is not valid JSON")
			continue
		}
		if m.Method == "notifications/cancelled" {
			b.cancelRequest(m)
		}
		if !m.isRequest() || m.Method == "initialize" { // later messages depend on notifications and on "initialize"
			b.exchangeMessage(ctx, m, line)
			if m.Method == "notifications/initialized" {
				streams.Go(func() { b.followSession(ctx) })
			}
		} else {
			slots <- struct{}{}
			requests.Go(func() {
				defer func() { <-slots }()
				b.exchangeMessage(ctx, m, line)
			})
		}
		if b.currentFailure() != nil {
			break
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a message is longer than %d MB", maxLine>>20)
	}
	b.finishRequests(cancel, &requests, &streams) //nolint:contextcheck // the session is ended although ctx may be done
	return errors.Join(err, b.currentFailure())
}

// finishRequests waits a moment for open requests, then ends them and the session.
func (b *Bridge) finishRequests(cancel context.CancelFunc, requests, streams *sync.WaitGroup) {
	answered := make(chan struct{})
	go func() {
		requests.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(grace):
	}
	cancel()
	<-answered
	streams.Wait()
	if b.session == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	if resp, err := b.sendRequest(ctx, http.MethodDelete, message{}, nil); err == nil {
		_ = resp.Body.Close()
	}
}

func (b *Bridge) currentFailure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// cancelRequest cancels a request of a revision without sessions by ending its HTTP request.
func (b *Bridge) cancelRequest(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[string(m.Params.RequestID)]; cancel != nil && b.session == "" {
		cancel()
	}
}

// exchangeMessage sends one message and writes the server's response.
func (b *Bridge) exchangeMessage(ctx context.Context, m message, line []byte) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if m.isRequest() {
		b.mu.Lock()
		b.running[string(m.ID)] = cancel
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			delete(b.running, string(m.ID))
			b.mu.Unlock()
		}()
	}
	resp, err := b.sendRequest(ctx, http.MethodPost, m, line)
	if err != nil {
		if ctx.Err() == nil {
			b.writeError(m.ID, -32603, "Hob does not answer")
			b.mu.Lock()
			b.failed = fmt.Errorf("lost the connection to Hob: %w", err)
			b.mu.Unlock()
		}
		return
	}
	defer resp.Body.Close()
	if m.Method == "initialize" {
		b.mu.Lock()
		b.session = resp.Header.Get("Mcp-Session-Id")
		b.mu.Unlock()
	}
	answered, err := b.relayResponse(resp, m)
	if m.isRequest() && !answered && ctx.Err() == nil {
		text := fmt.Sprintf("Hob did not answer this request (HTTP status %d)", resp.StatusCode)
		if err != nil {
			text += ": " + err.Error()
		}
		b.writeError(m.ID, -32603, text)
	}
}

// relayResponse writes the messages of a response. It reports whether it wrote any message.
func (b *Bridge) relayResponse(resp *http.Response, m message) (answered bool, err error) {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind != "text/event-stream" {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
		var reply struct {
			JSONRPC string `json:"jsonrpc"`
			Error   struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		switch {
		case err != nil:
			return false, err
		case json.Unmarshal(text, &reply) == nil && reply.JSONRPC != "":
			return true, b.writeMessage(text, m)
		case reply.Error.Message != "":
			return false, errors.New(reply.Error.Message)
		case resp.StatusCode >= http.StatusBadRequest:
			return false, errors.New(strings.TrimSpace(string(text[:min(len(text), 300)])))
		}
		return false, nil
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), maxReply)
	var data bytes.Buffer
	for lines.Scan() {
		if part, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
			data.Write(bytes.TrimPrefix(part, []byte(" ")))
			data.WriteByte('\n')
			continue
		}
		if len(lines.Bytes()) > 0 || len(bytes.TrimSpace(data.Bytes())) == 0 {
			continue
		}
		answered = true
		if err := b.writeMessage(data.Bytes(), m); err != nil {
			return answered, err
		}
		data.Reset()
	}
	return answered, lines.Err()
}

// followSession passes on the messages that the server sends without a request.
func (b *Bridge) followSession(ctx context.Context) {
	b.mu.Lock()
	has := b.session != ""
	b.mu.Unlock()
	if !has {
		return
	}
	resp, err := b.sendRequest(ctx, http.MethodGet, message{}, nil)
	if err != nil {
		return // the next request reports the error
	}
	defer resp.Body.Close()
	_, _ = b.relayResponse(resp, message{}) // the stream may end at any time
}

func (b *Bridge) sendRequest(ctx context.Context, method string, m message, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := r.Header
	h.Set("Accept", "application/json, text/event-stream")
	if len(body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	b.mu.Lock()
	session, revision := b.session, b.revision
	b.mu.Unlock()
	if m.Params.Meta.Version >= statelessRevision {
		h.Set("Mcp-Protocol-Version", m.Params.Meta.Version)
		h.Set("Mcp-Method", headerText(m.Method))
		switch m.Method {
		case "tools/call", "prompts/get":
			h.Set("Mcp-Name", headerText(m.Params.Name))
		case "resources/read":
			h.Set("Mcp-Name", headerText(m.Params.URI))
		}
		return b.Do(r)
	}
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	if revision != "" {
		h.Set("Mcp-Protocol-Version", revision)
	}
	return b.Do(r)
}

// headerText encodes a value for a header as SEP-2243 requires.
func headerText(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && strings.TrimSpace(s) == s
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// writeMessage writes a message of the server as one line.
func (b *Bridge) writeMessage(raw []byte, request message) error {
	var line bytes.Buffer
	if err := json.Compact(&line, bytes.TrimSpace(raw)); err != nil {
		return fmt.Errorf("invalid message from Hob: %w", err)
	}
	if request.Method == "initialize" {
		var m message
		if json.Unmarshal(raw, &m) == nil && m.Result.Version != "" {
			b.mu.Lock()
			b.revision = m.Result.Version
			b.mu.Unlock()
		}
	}
	line.WriteByte('\n')
	b.out.Lock()
	defer b.out.Unlock()
	_, err := b.Out.Write(line.Bytes())
	return err
}

func (b *Bridge) writeError(id json.RawMessage, code int, text string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	reply, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err == nil {
		_ = b.writeMessage(reply, message{}) // a program that does not read has ended
	}
}
