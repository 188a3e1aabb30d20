package page

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"hob/autonomy/config"
	"hob/autonomy/llm/llmtest"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
)

var update = flag.Bool("update", false, "write the screenshots for docs/dashboard.md")

const (
	docs         = "../../../../docs"
	pictureBytes = 1 << 20 // maximum size of all screenshots together
)

// A page without a picture in the documentation fails, and so does a picture of a page that no
// longer exists. With -update the test makes the pictures.
func TestPictures_ShowEachPage(t *testing.T) {
	h := openDaemon(t, offline)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/chat", nil)
	failOnError(t, err)
	req.Header.Set("Authorization", "Bearer "+h.token)
	res, err := http.DefaultClient.Do(req)
	failOnError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	failOnError(t, err)
	_, nav, _ := strings.Cut(string(body), `id="nav"`)
	nav, _, _ = strings.Cut(nav, "</nav>")
	want := []string{"chat-dark", "today-phone"}
	var pages []string
	for _, m := range regexp.MustCompile(`href="/(\w+)"`).FindAllStringSubmatch(nav, -1) {
		pages = append(pages, m[1])
	}
	want = append(want, pages...)
	if *update {
		takePictures(t, pages)
	}
	text, err := os.ReadFile(filepath.Join(docs, "dashboard.md"))
	failOnError(t, err)
	var got []string
	size := int64(0)
	files, err := filepath.Glob(filepath.Join(docs, "dashboard", "*.webp"))
	failOnError(t, err)
	for _, f := range files {
		info, err := os.Stat(f)
		failOnError(t, err)
		size += info.Size()
		got = append(got, strings.TrimSuffix(filepath.Base(f), ".webp"))
		if !strings.Contains(string(text), "(dashboard/"+filepath.Base(f)+")") {
			t.Errorf("docs/dashboard.md does not show %s", f)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("there are pictures of %q, want %q; run the test with -update", got, want)
	}
	if size > pictureBytes {
		t.Errorf("the pictures have %d bytes, want at most %d", size, pictureBytes)
	}
}

// takePictures makes the screenshots of a home in everyday use.
func takePictures(t *testing.T, pages []string) {
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Models: []string{"planner"}, Reply: everydayReply})
	t.Setenv("DEMO_KEY", llmtest.Key)
	h := openHealthy(t, fmt.Sprintf(`[agent]
model = "demo/planner"
timezone = "UTC"
[web]
listen = "127.0.0.1:0"
[browser]
enabled = false
[providers.demo]
kind = "openai"
base_url = %q
api_key = "env:DEMO_KEY"
[prices."demo/planner"]
input = 1.0
output = 5.0
[budget]
monthly_usd = 20.0
[knowledge]
extraction = "off"
`, model.URL+"/v1"))
	h.fillEveryday()
	b := launchBrowser(t)
	w := b.openWindow(t)
	w.runSteps(setScheme("light"), chromedp.EmulateViewport(1280, 800))
	w.logIn(h)
	w.sendText("What is important today?")
	w.sendText("Forget the old gate code.")
	w.waitUntil(`document.querySelector(".approval")`)
	for _, page := range pages {
		w.visitPage(h, "/"+page)
		if page == "memory" {
			w.visitPage(h, "/memory?q=Ada")
		}
		w.takePicture(page)
	}
	w.runSteps(setScheme("dark"))
	w.visitPage(h, "/chat")
	w.takePicture("chat-dark")
	w.runSteps(setScheme("light"), chromedp.EmulateViewport(360, 780))
	w.visitPage(h, "/today")
	w.takePicture("today-phone")
}

// openHealthy opens a home as a user has it: with the configuration in its file, so that the page Health
// shows no problem of the test. The pictures show its path.
func openHealthy(t *testing.T, conf string) *daemonFixture {
	t.Helper()
	home := filepath.Join(os.TempDir(), "ada")
	failOnError(t, os.Mkdir(home, 0o700))
	t.Cleanup(func() { failOnError(t, os.RemoveAll(home)) })
	h := newFixtureIn(t, home)
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	failOnError(t, paths.Ensure())
	failOnError(t, os.WriteFile(paths.ConfigFile(), []byte(conf), 0o600))
	c, err := config.Load(paths.ConfigFile())
	failOnError(t, err)
	h.runHob(app.Options{Paths: paths, Config: c, Version: "1.0.0"}, nil)
	return h
}

// takePicture stores a screenshot of the window as lossy WebP.
func (w *window) takePicture(name string) {
	w.t.Helper()
	quality := int64(60)
	shot := func(ctx context.Context, tab *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, tab, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Format: cdppage.CaptureScreenshotFormatWebp, Quality: &quality})
		return r.Data, err
	}
	data, err := chromedp.Run(w.ctx, chromedp.Action[[]byte](shot))
	failOnError(w.t, err)
	failOnError(w.t, os.MkdirAll(filepath.Join(docs, "dashboard"), 0o700))
	failOnError(w.t, os.WriteFile(filepath.Join(docs, "dashboard", name+".webp"), data, 0o600))
}

// everydayReply is the model of the home in the screenshots.
func everydayReply(r llmtest.Request) (llmtest.Answer, bool) {
	switch {
	case strings.Contains(r.LastUser, "gate code"):
		if len(r.Results) > 0 {
			return llmtest.Answer{Text: "Done."}, true
		}
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "forget", Args: `{"query":"gate code"}`}}}, true
	case !strings.Contains(r.LastUser, "important today"): // a review of a goal
		return llmtest.Answer{Text: `{"decision":"defer","confidence":0.9,"reason":"nothing is due yet"}`}, true
	case len(r.Results) == 0:
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "list_tasks", Args: `{}`}, {Name: "list_reminders", Args: `{}`}}}, true
	}
	return llmtest.Answer{Text: "Two things cannot wait:\n\n1. **Send the invoice to Vinted.** It is due today and has high priority.\n2. **Call Ada** tomorrow at 9:00. " +
		"Her flat has the boiler manual.\n\nThe plants can wait until the evening. Shall I move the dentist to next week?"}, true
}

// fillEveryday fills a home with items that look like those of a user.
func (h *daemonFixture) fillEveryday() {
	h.t.Helper()
	failOnError(h.t, os.Mkdir(filepath.Join(h.home, "Downloads"), 0o700))
	var made any
	for _, x := range []struct {
		tool string
		args map[string]any
	}{
		{"create_task", map[string]any{"title": "Send the invoice to Vinted", "due": "today", "priority": "high", "project": "work"}},
		{"create_task", map[string]any{"title": "Water the plants", "due": "today", "project": "home"}},
		{"create_task", map[string]any{"title": "Book the dentist", "due": "in 3 days"}},
		{"create_reminder", map[string]any{"text": "Call Ada", "at": "tomorrow at 9"}},
		{"create_reminder", map[string]any{"text": "Take the bread out of the oven", "at": "in 40 minutes"}},
		{"create_note", map[string]any{"title": "Boiler", "text": "The valve is behind the shelf; turn it to the right."}},
		{"create_schedule", map[string]any{"every": "weekday at 8:00", "action": "brief me"}},
		{"create_schedule", map[string]any{"every": "Friday at 17:00", "action": "summarize what I finished this week"}},
		{"create_watcher", map[string]any{"kind": "file", "config": map[string]any{"path": "~/Downloads", "pattern": "*.pdf"}, "action": "tell me what it is"}},
		{"create_goal", map[string]any{"description": "Speak Lithuanian at level B1", "priority": 4, "check_every": "2 days", "success": "I pass the exam in June"}},
		{"create_goal", map[string]any{"description": "Read a book a month", "priority": 2, "success": "12 books by the end of the year"}},
		{"remember", map[string]any{"text": "Ada Lovelace works at Vinted"}},
		{"remember", map[string]any{"text": "Ada Lovelace lives in Vilnius"}},
		{"remember", map[string]any{"text": "Ada Lovelace is a friend of Charles Babbage"}},
		{"remember", map[string]any{"text": "The old gate code is 4711"}},
		{"log_expense", map[string]any{"amount": 12.5, "category": "lunch"}},
		{"canvas_push", map[string]any{"title": "Spending", "content_type": "bar", "content": "month,EUR\nSeptember,812\nOctober,764\nNovember,690", "pin": true}},
		{"log_habit", map[string]any{"habit": "gym"}},
	} {
		h.postJSON("/api/v1/tools/"+x.tool, map[string]any{"arguments": x.args}, &made)
	}
}
