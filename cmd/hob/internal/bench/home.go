package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hob/platform/host/system"
	"hob/platform/retry"
)

const (
	startWait = 30 * time.Second
	stopWait  = 20 * time.Second
	askWait   = 60 * time.Second
	eventWait = 3 * time.Minute
)

// localServer is a server in this process that the measured program calls.
type localServer struct {
	addr   string
	server *http.Server
	served chan struct{} // closed when the server has ended
}

func serveLocally(h http.Handler) (*localServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends at once
	if err != nil {
		return nil, err
	}
	s := &localServer{addr: l.Addr().String(), server: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, served: make(chan struct{})}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // always returns ErrServerClosed
	}()
	return s, nil
}

func (s *localServer) stopServing(ctx context.Context) {
	_ = s.server.Shutdown(context.WithoutCancel(ctx)) // the server's clients have disconnected
	<-s.served
}

// home is a temporary home and the program that runs in it.
type home struct {
	binary string
	model  *model // nil means the built-in brain
	dir    string
	base   string // the URL of the running program
	token  string
	http   *http.Client
	cmd    *exec.Cmd
	exited chan struct{} // closed after the program has ended and err is set
	err    error
	began  time.Time
	took   time.Duration // time from the start until the program is ready
}

// newHome prepares a home that uses the given model, or the built-in brain.
func newHome(o Options, m *model) (*home, error) {
	dir, err := os.MkdirTemp("", "hob-bench-")
	if err != nil {
		return nil, err
	}
	conf := fmt.Sprintf("[agent]\nmodel = %q\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[files]\nallowed = [%q]\n", "offline", filepath.Join(dir, "user"))
	if m != nil {
		conf = strings.Replace(conf, `"offline"`, `"instant/instant"`, 1)
		conf += fmt.Sprintf("[providers.instant]\nkind = \"openai\"\nbase_url = %q\nmodel = \"instant\"\n", "http://"+m.addr+"/v1")
	}
	conf += o.more
	h := &home{binary: o.Binary, model: m, dir: dir}
	h.http = &http.Client{Timeout: askWait, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * sessions}}
	for _, d := range []string{"hob", "user"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "hob", "config.toml"), []byte(conf), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return h, nil
}

func (h *home) removeDir() { _ = os.RemoveAll(h.dir) } // the folder is temporary, so the system deletes any remaining files

// startProgram starts the program and waits until it accepts messages.
func (h *home) startProgram(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	h.cmd = exec.CommandContext(ctx, h.binary, "start", "--foreground")
	h.cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(h.dir, "hob"), "HOME="+filepath.Join(h.dir, "user"), "TZ=UTC")
	h.cmd.Dir, h.cmd.Stdout, h.cmd.Stderr = filepath.Join(h.dir, "user"), log, log
	h.began = time.Now()
	if err := h.cmd.Start(); err != nil {
		return err
	}
	h.exited = make(chan struct{})
	go func() {
		h.err = h.cmd.Wait()
		close(h.exited)
	}()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for h.checkReady(ctx) != nil {
		select {
		case <-h.exited:
			return fmt.Errorf("the program exited during start: %w: %s", h.err, h.logTail())
		case <-ctx.Done():
			return errors.Join(ctx.Err(), h.stopProgram(ctx))
		case <-tick.C:
		}
		if time.Since(h.began) > startWait {
			return errors.Join(fmt.Errorf("not ready after %s: %s", startWait, h.logTail()), h.stopProgram(ctx))
		}
	}
	h.took = time.Since(h.began)
	b, err := os.ReadFile(filepath.Join(h.dir, "hob", "token"))
	h.token = strings.TrimSpace(string(b))
	return err
}

func (h *home) logTail() string {
	b, err := os.ReadFile(filepath.Join(h.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

func (h *home) checkReady(ctx context.Context) error {
	at, found, err := system.ReadEndpoint(system.Paths{Data: filepath.Join(h.dir, "hob")}.EndpointFile(), h.processID())
	if err != nil || !found {
		return cmp.Or(err, errors.New("no address yet"))
	}
	h.base = "http://" + at.Address
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

func (h *home) processID() int { return h.cmd.Process.Pid }

// stopProgram stops the program normally, or kills it after a timeout.
func (h *home) stopProgram(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	asked := h.postJSON(ctx, "/api/v1/manage/shutdown", struct{}{}, nil)
	h.http.CloseIdleConnections()
	if asked != nil {
		_ = h.cmd.Process.Kill() // the program does not respond
	}
	select {
	case <-h.exited:
		return nil
	case <-ctx.Done():
		_ = h.cmd.Process.Kill()
		<-h.exited
		return fmt.Errorf("the program did not stop within %s", stopWait)
	}
}

func (h *home) postJSON(ctx context.Context, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return h.doRequest(ctx, http.MethodPost, path, b, out)
}

func (h *home) doRequest(ctx context.Context, method, path string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 400 {
		return fmt.Errorf("%s: %s: %s", path, resp.Status, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// sendAndWait sends a message and waits for its answer.
func (h *home) sendAndWait(ctx context.Context, session, text string) error {
	var out struct{ Answer string }
	err := h.postJSON(ctx, "/api/v1/sessions/"+url.PathEscape(session)+"/messages", map[string]any{"text": text}, &out)
	if err == nil && out.Answer == "" {
		err = fmt.Errorf("no answer to %q", text)
	}
	return err
}

// sendMessage sends a message and returns its event id when it is durable.
func (h *home) sendMessage(ctx context.Context, session, text string) (string, error) {
	var out struct{ Event string }
	err := h.postJSON(ctx, "/api/v1/sessions/"+url.PathEscape(session)+"/messages", map[string]any{"text": text, "async": true}, &out)
	return out.Event, err
}

// waitFinished waits until an event is done.
func (h *home) waitFinished(ctx context.Context, event string) error {
	for {
		var st struct{ State, Error string }
		if err := h.doRequest(ctx, http.MethodGet, "/api/v1/inbox/"+url.PathEscape(event), nil, &st); err != nil {
			return err
		}
		switch st.State {
		case "done":
			return nil
		case "dead":
			return fmt.Errorf("event %s failed: %s", event, st.Error)
		}
		if err := retry.Sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// callTool runs a tool with the owner's authority in the session "bench".
func (h *home) callTool(ctx context.Context, tool string, args any) error {
	var out struct{ Error string }
	err := h.postJSON(ctx, "/api/v1/tools/"+tool, map[string]any{"arguments": args, "session": "bench"}, &out)
	if err == nil && out.Error != "" {
		err = fmt.Errorf("%s: %s", tool, out.Error)
	}
	return err
}
