package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/api/apitest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fixedProbe(name string, state State) Probe {
	return Probe{Name: name, Means: "a test", Run: func(context.Context, Env) []Check {
		return []Check{{Name: name, State: state, Cause: "as the test wants it"}}
	}}
}

// A probe that ignores its deadline does not block the other probes. Their findings are reported at
// once, together with a finding about the probe that did not finish.
func TestRun_CheckThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		stuck := Probe{Name: "stuck", Run: func(context.Context, Env) []Check { <-free; return nil }}
		slow := Probe{Name: "slow", Run: func(ctx context.Context, _ Env) []Check {
			<-ctx.Done()
			return skipCheck("slow", ctx.Err().Error(), "")
		}}
		begun := time.Now()
		var came []string
		list, err := Run(t.Context(), Env{}, Options{In: "here", probes: []Probe{stuck, slow, fixedProbe("quick", OK)}, Each: func(c Check) {
			came = append(came, fmt.Sprint(c.Name, " ", time.Since(begun)))
		}})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"quick 0s", "slow 15s", "stuck 17s"}; !slices.Equal(came, want) {
			t.Errorf("they came as %q, want %q", came, want)
		}
		if len(list) != 3 || list[0].State != Skip || !strings.Contains(list[0].Cause, "did not complete within 15s") || list[0].Remedy != "run only this check: hob doctor stuck" || list[0].In != "here" {
			t.Errorf("%+v", list)
		}
		if Failed(list) {
			t.Error("a skipped check counts as a failure")
		}
	})
}

func TestRun_CheckThatPanics(t *testing.T) {
	list, err := Run(t.Context(), Env{}, Options{probes: []Probe{{Name: "x", Run: func(context.Context, Env) []Check { panic("oh") }}, fixedProbe("y", OK)}})
	if err != nil || len(list) != 2 || list[0].State != Fail || !strings.Contains(list[0].Cause, "oh") || list[1].State != OK {
		t.Errorf("Run = %+v, %v", list, err)
	}
}

func TestRun_SelectedChecks(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  string // the probes, or the names in the error
	}{
		{nil, "agents model"},
		{[]string{"model"}, "model"},
		{[]string{"fallback", "model"}, "model"},
		{[]string{"agent work"}, "agents"},
		{[]string{"agent"}, "agents"},
		{[]string{"modle"}, `unknown check: "modle"; known checks: agents, model`},
	} {
		agents, model := fixedProbe("agents", OK), fixedProbe("model", OK)
		agents.Also, model.Also = []string{"agent "}, []string{"fallback", "small model"}
		list, err := Run(t.Context(), Env{}, Options{Names: tc.names, probes: []Probe{agents, model}})
		var got []string
		for _, c := range list {
			got = append(got, c.Name)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if errors.Is(err, ErrUnknown) != strings.HasPrefix(tc.want, "unknown check") || strings.Join(got, " ") != tc.want {
			t.Errorf("%q: %q, want %q", tc.names, got, tc.want)
		}
	}
}

// Every probe has a unique name and a purpose, and comes after the probes in After.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Probes() {
		if p.Name == "" || p.Means == "" || p.Run == nil || seen[p.Name] {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		for _, a := range p.After {
			if !slices.ContainsFunc(Probes(), func(o Probe) bool { return o.Name == a && len(o.After) == 0 }) {
				t.Errorf("%s waits for %s", p.Name, a)
			}
		}
	}
}

func TestFix(t *testing.T) {
	var fixed atomic.Bool
	sick := Probe{Name: "sick", Run: func(context.Context, Env) []Check {
		if fixed.Load() {
			return okCheck("sick", "is well")
		}
		return withFix(func(context.Context) (string, error) { fixed.Store(true); return "gave it tea", nil }, failCheck("sick", "it coughs", fixRemedy))
	}}
	dead := Probe{Name: "dead", Run: func(context.Context, Env) []Check {
		return withFix(func(context.Context) (string, error) { return "", errors.New("too late") }, failCheck("dead", "it is dead", fixRemedy))
	}}
	inside := 0
	o := Options{probes: []Probe{sick, dead, fixedProbe("well", OK)}, Alone: func(context.Context) (func() error, error) {
		inside++
		return func() error { inside--; return nil }, nil
	}}
	list, err := Run(t.Context(), Env{}, o)
	if err != nil || !list[0].Fixable || list[0].Fixed != "" || fixed.Load() || !Failed(list) {
		t.Errorf("Run without --fix: %+v, %v", list, err)
	}
	told := 0
	o.Fix, o.Each = true, func(Check) { told++ }
	list, err = Run(t.Context(), Env{}, o)
	if err != nil || list[0].State != OK || list[0].Fixed != "gave it tea" || told != 3 || inside != 0 {
		t.Errorf("Run with --fix: %+v, %v, %d reports, %d concurrent fixes", list, err, told, inside)
	}
	if list[1].State != Fail || !strings.Contains(list[1].Cause, "the fix failed: too late") || list[1].Fixed != "" {
		t.Errorf("failed fix: %+v", list[1])
	}
	fixed.Store(false)
	o.Alone = func(context.Context) (func() error, error) { return nil, errors.New("another one is at work") }
	if _, err = Run(t.Context(), Env{}, o); err == nil || fixed.Load() {
		t.Errorf("a second fix ran at the same time: %v", err)
	}
}

// The clock is compared with the time of the model's server, which another check contacts. No
// server is contacted only for the time.
func TestSkew(t *testing.T) {
	for _, tc := range []struct {
		name  string
		off   time.Duration
		names []string
		state State
		want  string
	}{
		{"right", 0, nil, OK, "agrees with 127.0.0.1"},
		{"a little off", time.Minute, nil, OK, "agrees with"},
		{"behind", 3 * time.Hour, nil, Warn, "3h0m behind the time of 127.0.0.1"},
		{"ahead", -3 * time.Hour, nil, Warn, "3h0m ahead of"},
		{"no answer", 3 * time.Hour, []string{"clock"}, OK, "no server"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			url := modelServer(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Date", time.Now().Add(tc.off).UTC().Format(http.TimeFormat))
				fmt.Fprint(w, `{"object":"list","data":[{"id":"m1","object":"model"}]}`)
			})
			e := withConfig(t, healthyEnv(t), fmt.Sprintf("[agent]\nmodel = \"local/m1\"\n[providers.local]\nkind = \"openai\"\nbase_url = %q\n", url))
			list, err := Run(t.Context(), e, Options{Names: append(tc.names, tc.names...)})
			i := slices.IndexFunc(list, func(c Check) bool { return c.Name == "clock" })
			if err != nil || i < 0 || list[i].State != tc.state || !strings.Contains(list[i].Cause, tc.want) {
				t.Fatalf("%+v, %v", list, err)
			}
			if want := min(1, 1-len(tc.names)); asked != want {
				t.Errorf("the server was asked %d times, want %d", asked, want)
			}
		})
	}
}

// TestAPIFinding checks that a check has the same JSON in the API as before its conversion.
func TestAPIFinding(t *testing.T) { apitest.SameJSON(t, apiFinding) }
