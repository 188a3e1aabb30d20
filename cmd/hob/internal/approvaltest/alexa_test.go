package approvaltest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/alexa"
	"hob/platform/net/safehttp/safehttptest"
)

// alexaSpeech simulates an Echo and its Amazon service: it posts signed requests with spoken text ("Host
// a Custom Skill as a Web Service" in Amazon's documentation) and collects the spoken answers.
type alexaSpeech struct {
	t   *testing.T
	p   *chatChannel
	key *rsa.PrivateKey
	n   int

	mu     sync.Mutex
	spoken []string
}

const (
	skill     = "amzn1.ask.skill.0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f"
	signerURL = "https://s3.amazonaws.com/echo.api/echo-api-cert.pem"
	voice     = "amzn1.ask.person.OWNER"
	// room is another person who speaks to the owner's own Echo.
	room   = "somebody in the room"
	forger = "forger"
)

// openAlexa opens the owner's skill. It recognizes the owner's voice, so text from other people in
// the room does not count as the owner's.
func openAlexa(t *testing.T) *chatChannel {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	failOnError(t, err)
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, DNSNames: []string{"echo-api.amazon.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	failOnError(t, err)
	cert, err = x509.ParseCertificate(der)
	failOnError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	net := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}))
	s := &alexaSpeech{t: t, key: key}
	s.p = &chatChannel{
		section: fmt.Sprintf("[channels.alexa]\nskill = %q\nallow = [%q]\nvoices = [%q]\n", skill, alexaAccount(guest), voice),
		driver: simulatedDriver{alexa.Name, func(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
			var c alexa.Config
			if err := decode(&c); err != nil {
				return nil, err
			}
			deps.Network = net.Client(t)
			return alexa.New(c, deps, alexa.Options{Roots: roots, Wait: time.Second})
		}},
		others: []string{"stranger", room, forger}, guests: true, mute: true, say: s.postSpeech, saw: s.wasSpoken,
	}
	return s.p
}

func alexaAccount(who string) string { return "amzn1.ask.account." + strings.ToUpper(who) }

// postSpeech posts spoken text and records the spoken answer.
func (s *alexaSpeech) postSpeech(who string, _ bool, text string) bool {
	intent := "AskIntent"
	switch text {
	case "yes":
		intent = "AMAZON.YesIntent"
	case "no":
		intent = "AMAZON.NoIntent"
	}
	if who == owner && intent != "AskIntent" { // the question must be spoken again, because another person in the room has spoken since
		waitUntil(s.t, "the question is spoken again", func() bool {
			said, _ := s.postIntent(owner, "AnswerIntent", "")
			s.keepText(said)
			return strings.Contains(said, "Say yes or no.")
		})
	}
	answer, status := s.postIntent(who, intent, text)
	if refused := refusedBy(s.t, status); refused != (who == forger) {
		s.t.Errorf("%s: the answer is %d", who, status)
	}
	if who == owner {
		s.keepText(answer)
	}
	return who == "stranger"
}

func (s *alexaSpeech) keepText(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoken = append(s.spoken, text)
}

// wasSpoken reports whether a text with this part was spoken. It fetches texts that were not spoken yet.
func (s *alexaSpeech) wasSpoken(part string) bool {
	s.mu.Lock()
	known := strings.Contains(strings.Join(s.spoken, "\n"), part)
	s.mu.Unlock()
	if known {
		return true
	}
	answer, _ := s.postIntent(owner, "AnswerIntent", "")
	s.keepText(answer)
	return strings.Contains(answer, part)
}

func (s *alexaSpeech) postIntent(who, intent, text string) (answer string, status int) {
	s.t.Helper()
	type object = map[string]any
	s.n++
	user := alexaAccount(who)
	if who == room || who == forger {
		user = alexaAccount(owner)
	}
	system := object{"application": object{"applicationId": skill}, "user": object{"userId": user}}
	session := "session of " + who
	if who == owner || who == forger {
		system["person"] = object{"personId": voice, "authenticationConfidenceLevel": object{"level": 300}}
	}
	if who == forger || who == room && intent != "AskIntent" { // the yes or no is spoken in the owner's session
		session = "session of " + owner
	}
	body, err := json.Marshal(object{
		"version": "1.0", "context": object{"System": system}, "session": object{"sessionId": session},
		"request": object{
			"type": "IntentRequest", "requestId": fmt.Sprintf("r%d", s.n), "timestamp": time.Now().UTC().Format(time.RFC3339),
			"intent": object{"name": intent, "slots": object{"text": object{"name": "text", "value": text}}},
		},
	})
	failOnError(s.t, err)
	sum := sha256.Sum256(body)
	if who == forger {
		sum = sha256.Sum256([]byte("another body"))
	}
	sig, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	failOnError(s.t, err)
	status, b := s.p.h.callAPI(http.MethodPost, "/hooks/alexa", body, http.Header{
		"SignatureCertChainUrl": {signerURL}, "Signature-256": {base64.StdEncoding.EncodeToString(sig)},
	})
	return string(b), status
}
