package dashboard

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
)

func TestIsLocalPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/today": true, "/chat?session=a": true, "": false, "today": false, "//evil.example": false, `/\evil.example`: false,
		"https://evil.example": false, "javascript:alert(1)": false, "/a\r\nSet-Cookie: x": false,
	} {
		if got := isLocalPath(path); got != want {
			t.Errorf("isLocalPath(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestFlashStore_ShowsEachMessageOnce(t *testing.T) {
	var s flashStore
	first := s.addFlash(flash{text: "first"})
	if got := s.takeFlash(first).text; got != "first" {
		t.Errorf("got %q", got)
	}
	if got := s.takeFlash(first).text; got != "" {
		t.Errorf("second takeFlash = %q", got)
	}
	old := s.addFlash(flash{text: "old"})
	for range maxFlashes {
		s.addFlash(flash{text: "new"})
	}
	if got := s.takeFlash(old).text; got != "" || len(s.texts) > maxFlashes {
		t.Errorf("takeFlash = %q, %d messages stored", got, len(s.texts))
	}
}

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{"gzip, deflate, br": true, "": false, "br": false, "gzip;q=0": false, "GZIP;q=0.5": true} {
		r := httptest.NewRequest("GET", "/chat", nil)
		r.Header.Set("Accept-Encoding", header)
		if got := acceptsGzip(r); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func TestRenderHit_NamesWhatItShows(t *testing.T) {
	now := time.Date(2026, 3, 10, 14, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		speaker    string
		want, none []string
	}{
		"your message":    {"owner", []string{">message<", "you, "}, []string{"owner"}},
		"a tool's result": {"tool", []string{">tool result<"}, []string{">message<", "tool, "}},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			row := api.MemoryRow{ID: "m1", Kind: "turn", Speaker: tc.speaker, Text: "the code is 77", At: now}
			if err := renderHit(&request{zone: time.UTC, now: now}, row, 1).Render(&b); err != nil {
				t.Fatal(err)
			}
			for _, s := range tc.want {
				if !strings.Contains(b.String(), s) {
					t.Errorf("%q is not in %s", s, b.String())
				}
			}
			for _, s := range tc.none {
				if strings.Contains(b.String(), s) {
					t.Errorf("%q is in %s", s, b.String())
				}
			}
		})
	}
}

// Labels of buttons must not contain characters that reorder text; screen readers read labels.
func TestShortText(t *testing.T) {
	for text, want := range map[string]string{
		"call Bob": "call Bob", "pay\u202eBob\u200b": "payBob", strings.Repeat("a", 61): strings.Repeat("a", 60) + "…",
	} {
		if got := shortText(text); got != want {
			t.Errorf("shortText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFormatRelative(t *testing.T) {
	now := time.Date(2026, 3, 10, 14, 0, 0, 0, time.UTC)
	r := &request{zone: time.UTC, now: now}
	for want, at := range map[string]time.Time{
		"just now": now.Add(-10 * time.Second), "in less than 1 min": now.Add(10 * time.Second), "5 min ago": now.Add(-5 * time.Minute),
		"in 3 h": now.Add(3 * time.Hour), "yesterday 13:00": now.Add(-25 * time.Hour), "tomorrow 09:00": now.Add(19 * time.Hour),
		"Sun 1 Mar, 14:00": now.AddDate(0, 0, -9), "10 Mar 2025, 14:00": now.AddDate(-1, 0, 0),
	} {
		if got := r.formatRelative(at); got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
}

func TestRichText_RendersNoHTMLOfTheText(t *testing.T) {
	var b strings.Builder
	err := richText("Hello *there*. [a](javascript:x) <b onclick='x'>y</b> <script>z</script>\n\n![p](http://127.0.0.1/leak.png) \u202egnp.exe").Render(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<b ", "<img", `href="javascript`, "\u202e"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%q is in %s", bad, b.String())
		}
	}
	if !strings.Contains(b.String(), "<em>there</em>") {
		t.Errorf("no emphasis in %s", b.String())
	}
}
