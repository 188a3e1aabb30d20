package simulate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
)

// modelScript returns a script in which one message is sent to a configured model.
func modelScript(kind, url, more string) string {
	return fmt.Sprintf("-- config --\n[agent]\nmodel = \"far/scripted\"\n[providers.far]\nkind = %q\nbase_url = %q\nmodel = \"scripted\"\napi_key = \"env:FAR\"\n%s\n"+
		"-- day 1 09:00 message --\nplease see to the flowers\n", kind, url, more)
}

// useRealModels makes the simulation use the configured models.
func useRealModels(o *Options) {
	o.Model, o.Days = Configured, 1
	o.Start = time.Date(2027, 3, 20, 0, 0, 0, 0, time.UTC)
	o.Secret = keyOf
}

// saidBy returns the lines of a timeline that have one of the kinds.
func saidBy(r *Result, kinds ...Kind) string {
	var b strings.Builder
	for _, e := range r.Timeline {
		for _, k := range kinds {
			if e.Kind == k {
				fmt.Fprintf(&b, "%s %s %s\n", e.At.Format("2 15:04:05"), k, e.Text)
			}
		}
	}
	return b.String()
}

func TestModel_ConfiguredOneIsCalled(t *testing.T) {
	for _, kind := range []string{"openai", "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			srv := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key},
				llmtest.Answer{Calls: []llmtest.Call{{Name: "create_task", Args: `{"title":"water the flowers"}`}}}, llmtest.Answer{Text: "I have noted the flowers."})
			base := srv.URL
			if kind == "openai" {
				base += "/v1"
			}
			r := simulateScript(t, modelScript(kind, base, ""), useRealModels)
			got := saidBy(r, Do, Say, Failed, Problem)
			want := "20 09:00:00 do create_task: "
			if !strings.Contains(got, want) || !strings.Contains(got, "20 09:00:00 say I have noted the flowers.") || strings.Contains(got, "failed") || r.ModelCalls < 2 {
				t.Errorf("%d calls:\n%s", r.ModelCalls, got)
			}
		})
	}
}

// A model that accepts a request and sends nothing ends the simulation, because simulated time does
// not advance during the request.
func TestModel_SilentOneEndsTheSimulation(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = trySimulation(t, modelScript("openai", "http://"+l.Addr().String()+"/v1", "stall = \"300ms\""), useRealModels)
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()+" sent no data for 300ms") || !strings.Contains(err.Error(), "--model configured") {
		t.Errorf("trySimulation = %v", err)
	}
}

// Certificates are checked against the real time, and waiting for a busy model takes no simulated
// time.
func TestModel_CallsUseRealTime(t *testing.T) {
	srv := llmtest.NewServer(t, llmtest.Options{}, llmtest.Answer{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}}, llmtest.Answer{Text: "Gladly.", Times: -1})
	cert, roots := newBriefCertificate(t)
	far := httptest.NewUnstartedServer(srv)
	far.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	far.StartTLS()
	defer far.Close()
	r := simulateScript(t, modelScript("openai", far.URL+"/v1", ""), func(o *Options) {
		useRealModels(o)
		o.roots = roots
	})
	if got := saidBy(r, Say, Failed); !strings.Contains(got, "20 09:00:00 say Gladly.") || strings.Contains(got, "failed") {
		t.Errorf("saidBy = %s", got)
	}
}

// newBriefCertificate returns a certificate that is valid only around the current real time.
func newBriefCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "far"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func TestModel_Selections(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		replay bool
		says   string // part of the error; "" if the simulation runs
	}{
		"an external agent":         {script: "-- config --\n[agent]\nmodel = \"auto\"\n[providers.code]\nkind = \"acp\"\ncommand = \"agent\"\n", says: "[providers.code] is an external agent"},
		"answers of the script":     {script: "-- model --\nhello\n", says: "remove --model configured"},
		"a day once more":           {script: "-- config --\n[agent]\nmodel = \"far/x\"\n[providers.far]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n", replay: true},
		"an agent that is not used": {script: "-- config --\n[agent]\nmodel = \"offline\"\n[providers.code]\nkind = \"acp\"\ncommand = \"agent\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trySimulation(t, c.script, func(o *Options) {
				useRealModels(o)
				o.Replay = c.replay
			})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v", err)
			}
		})
	}
}
