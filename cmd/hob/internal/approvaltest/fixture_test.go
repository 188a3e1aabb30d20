package approvaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/autonomy/config"
	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/channels/discord"
	"hob/channels/email"
	"hob/channels/imessage"
	"hob/channels/slack"
	"hob/channels/telegram"
	"hob/channels/web"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/tools"
)

// daemonFixture is a complete Hob with one channel and a scripted model.
type daemonFixture struct {
	t       *testing.T
	home    string
	channel string
	url     string
	token   string
	client  *http.Client
	model   *llmtest.Server

	mu   sync.Mutex
	done map[string]int
}

// newSendTool returns a tool that needs approval, because it reaches another person.
func (h *daemonFixture) newSendTool() tools.Tool {
	type in struct {
		What string `json:"what"`
	}
	return tools.New(tools.Def[in]{
		Spec:    tools.Spec{Name: "carry_out", Category: "test", Description: "Carry something out.", Effects: tools.Send | tools.Destroy, Core: true},
		Summary: func(i in) string { return "carry out " + i.What },
		Run: func(_ context.Context, _ tools.Call, i in) (tools.Result, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.done[i.What]++
			return tools.Result{Source: provenance.Tool, Text: "it is carried out"}, nil
		},
	})
}

// countActions returns how often an action was carried out.
func (h *daemonFixture) countActions(what string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done[what]
}

var ordered = regexp.MustCompile(`(?i)please carry out (task-\w+-\w+)`)

// replyTo returns the model's answer. The model follows any order in the text; the last order counts,
// because the message comes after Hob's own context.
func replyTo(r llmtest.Request) (llmtest.Answer, bool) {
	orders := ordered.FindAllStringSubmatch(r.LastUser, -1)
	if orders == nil {
		return llmtest.Answer{Text: "I have heard it."}, true
	}
	m := orders[len(orders)-1]
	switch {
	case len(r.Results) == 0:
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "carry_out", Args: fmt.Sprintf(`{"what":%q}`, m[1])}}}, true
	case strings.Contains(r.Results[0].Text, "it is carried out"):
		return llmtest.Answer{Text: "Done: " + m[1]}, true
	}
	return llmtest.Answer{Text: "Left: " + m[1]}, true
}

// modelReceived reports whether the model received a text.
func (h *daemonFixture) modelReceived(text string) bool {
	return slices.ContainsFunc(h.model.Requests(), func(r llmtest.Request) bool { return strings.Contains(r.LastUser, text) })
}

func openFixture(t *testing.T, channel string, p *chatChannel) *daemonFixture {
	t.Helper()
	h := &daemonFixture{t: t, home: t.TempDir(), channel: channel, client: &http.Client{Transport: &http.Transport{}}, done: map[string]int{}}
	answers := replyTo
	if p.reply != nil {
		answers = p.reply
	}
	h.model = llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: answers})
	hob := filepath.Join(h.home, "hob")
	failOnError(t, os.MkdirAll(hob, 0o700))
	paths, err := system.ResolvePaths(runtime.GOOS, h.home, func(name string) string { return map[string]string{"HOB_HOME": hob}[name] })
	failOnError(t, err)
	c, err := config.Parse("config.toml", fmt.Appendf(nil, "%s\n[agent]\nmodel = \"test/scripted\"\ntimezone = \"UTC\"\n[providers.test]\nkind = \"openai\"\nbase_url = %q\napi_key = %q\n"+
		"[autonomy]\nguest_messages = 1000\n[knowledge]\nextraction = \"off\"\n[web]\nlisten = \"127.0.0.1:0\"\n%s", p.section, h.model.URL+"/v1", llmtest.Key, p.more))
	failOnError(t, err)
	var drivers []channels.Driver
	if p.driver != nil {
		drivers = append(drivers, p.driver)
	}
	d, err := app.Open(t.Context(), app.Options{
		Paths: paths, Config: c, Version: "test", UserHome: h.home, Tools: append([]tools.Tool{h.newSendTool()}, p.tools...), Drivers: drivers, Network: p.network, Quick: 1,
		Peer:    func(string, string, bool) web.Peer { return web.PeerOwner }, // all clients run in the test process
		Started: func() (bool, error) { return false, nil }, Session: func(string) string { return "" },
	})
	failOnError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx) }()
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-ran, d.Close()); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-d.Ready():
	case err := <-ran:
		ran <- err
		t.Fatal("the daemon ended")
	}
	token, err := os.ReadFile(paths.TokenFile())
	failOnError(t, err)
	h.token, h.url = strings.TrimSpace(string(token)), "http://"+d.Addr()
	return h
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// callAPI sends a request to the API with the given headers.
func (h *daemonFixture) callAPI(method, path string, body []byte, header http.Header) (int, []byte) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, bytes.NewReader(body))
	failOnError(h.t, err)
	req.Header = header
	res, err := h.client.Do(req)
	failOnError(h.t, err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	failOnError(h.t, err)
	return res.StatusCode, out
}

// clientHeaders returns the headers of a client with a token.
func clientHeaders(token, channel string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	if channel != "" {
		h.Set("X-Hob-Channel", channel)
	}
	return h
}

func (h *daemonFixture) postJSON(path string, in, out any) {
	h.t.Helper()
	body, err := json.Marshal(in)
	failOnError(h.t, err)
	h.decodeReply(http.MethodPost, path, body, out)
}

func (h *daemonFixture) getJSON(path string, out any) {
	h.t.Helper()
	h.decodeReply(http.MethodGet, path, nil, out)
}

func (h *daemonFixture) decodeReply(method, path string, body []byte, out any) {
	h.t.Helper()
	status, b := h.callAPI(method, path, body, clientHeaders(h.token, ""))
	if status >= 300 {
		h.t.Fatalf("%s: %d %s", path, status, b)
	}
	failOnError(h.t, json.Unmarshal(b, out))
}

// simulatedDriver is a driver whose channel uses a simulated platform.
type simulatedDriver struct {
	name string
	make func(decode func(any) error, deps channels.Deps) (channels.Channel, error)
}

func (m simulatedDriver) Describe() channels.Description { return channels.Description{Name: m.name} }

// New implements channels.Driver.
func (m simulatedDriver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return m.make(decode, deps)
}

// withoutRateLimit returns a driver whose channel has no rate limit, because waiting for the limit would
// take minutes.
func withoutRateLimit(d channels.Driver, free func(channels.Channel) channels.Channel) channels.Driver {
	return simulatedDriver{d.Describe().Name, func(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
		ch, err := d.New(decode, deps)
		if err != nil {
			return nil, err
		}
		return free(ch), nil
	}}
}

// withoutLimit removes the limit of messages per minute.
func withoutLimit(l channels.Limits) channels.Limits {
	l.PerMinute = 0
	return l
}

type (
	freeMac      struct{ *imessage.Channel }
	freeMail     struct{ *email.Channel }
	freeTelegram struct{ *telegram.Channel }
	freeDiscord  struct{ *discord.Channel }
	freeSlack    struct{ *slack.Channel }
)

func (c freeMac) Limits() channels.Limits      { return withoutLimit(c.Channel.Limits()) }
func (c freeMail) Limits() channels.Limits     { return withoutLimit(c.Channel.Limits()) }
func (c freeTelegram) Limits() channels.Limits { return withoutLimit(c.Channel.Limits()) }
func (c freeDiscord) Limits() channels.Limits  { return withoutLimit(c.Channel.Limits()) }
func (c freeSlack) Limits() channels.Limits    { return withoutLimit(c.Channel.Limits()) }
