package alexa

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// request is a request from Alexa with the fields that Hob uses ("Request and Response JSON
// Reference"). Amazon may add fields.
type request struct {
	Session struct {
		ID          string      `json:"sessionId"`
		Application application `json:"application"`
		User        user        `json:"user"`
	} `json:"session"`
	Context struct {
		System struct {
			Application application `json:"application"`
			User        user        `json:"user"`
			// Person is set if Alexa recognized the voice. Level is the confidence.
			Person struct {
				ID   string `json:"personId"`
				Sure struct {
					Level int `json:"level"`
				} `json:"authenticationConfidenceLevel"`
			} `json:"person"`
			// The endpoint of progressive responses and its token.
			Endpoint string `json:"apiEndpoint"`
			Token    string `json:"apiAccessToken"`
		} `json:"System"`
	} `json:"context"`
	Request struct {
		Type      string `json:"type"`
		ID        string `json:"requestId"`
		Timestamp string `json:"timestamp"`
		Intent    struct {
			Name  string `json:"name"`
			Slots map[string]struct {
				Value string `json:"value"`
			} `json:"slots"`
		} `json:"intent"`
	} `json:"request"`

	at time.Time
}

type application struct {
	ID string `json:"applicationId"`
}

type user struct {
	ID string `json:"userId"`
}

func parseRequest(b []byte) (*request, error) {
	q := &request{}
	if err := json.Unmarshal(b, q); err != nil {
		return nil, errors.New("the body is not valid JSON")
	}
	return q, nil
}

// checkRequest rejects requests for another skill, old requests, and requests without a user.
func (q *request) checkRequest(skill string, now time.Time) error {
	apps := []string{q.Session.Application.ID, q.Context.System.Application.ID}
	if slices.ContainsFunc(apps, func(id string) bool { return id != "" && id != skill }) || apps[0] == "" && apps[1] == "" {
		return errors.New("the request is for another skill; set skill in [channels.alexa] to the id of your skill")
	}
	at, err := time.Parse(time.RFC3339, q.Request.Timestamp)
	if err != nil || now.Sub(at).Abs() > tolerance {
		return fmt.Errorf("the request time differs by more than %v; check the clock of this machine", tolerance)
	}
	a, b := q.Session.User.ID, q.Context.System.User.ID
	if a != "" && b != "" && a != b || a == "" && b == "" || len(q.userID()) > 400 || q.Request.ID == "" || len(q.Request.ID) > 400 {
		return errors.New("the request names no user")
	}
	q.at = at
	return nil
}

func (q *request) userID() string {
	if q.Context.System.User.ID != "" {
		return q.Context.System.User.ID
	}
	return q.Session.User.ID
}

// requestMeaning is the kind of a request.
type requestMeaning uint8

const (
	nothingMeant requestMeaning = iota
	opens                       // the skill was started
	speaks                      // a message to Hob
	agrees                      // the user says yes
	refuses                     // the user says no
	collects                    // asks for a pending answer
	helps
	ends
	nothingHeard
)

// slot is the name of the slot with the free text.
const slot = "text"

// parseMeaning returns the kind of a request and its text.
func (q *request) parseMeaning() (requestMeaning, string) {
	switch q.Request.Type {
	case "LaunchRequest":
		return opens, ""
	case "IntentRequest":
	default: // SessionEndedRequest and unknown types
		return nothingMeant, ""
	}
	name := q.Request.Intent.Name
	switch name {
	case "AMAZON.StopIntent", "AMAZON.CancelIntent", "AMAZON.NavigateHomeIntent":
		return ends, ""
	case "AMAZON.HelpIntent":
		return helps, ""
	case "AMAZON.YesIntent":
		return agrees, "yes"
	case "AMAZON.NoIntent":
		return refuses, "no"
	case answerIntent:
		return collects, ""
	}
	said := strings.Join(strings.Fields(q.Request.Intent.Slots[slot].Value), " ")
	word, ours := carrierWord(name)
	switch {
	case !ours || said == "":
		return nothingHeard, ""
	case name == codeIntent:
		return speaks, joinSpelledCode(said)
	}
	return speaks, strings.TrimSpace(word + " " + said)
}

// joinSpelledCode converts a code that was spelled out: "B. four hyphen x" becomes "B4x". It
// returns other input unchanged.
func joinSpelledCode(said string) string {
	digits := map[string]string{"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "hyphen": "", "dash": "", "minus": ""}
	var out strings.Builder
	for _, f := range strings.FieldsFunc(said, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,-", r) }) {
		d, word := digits[strings.ToLower(f)]
		switch {
		case word:
			out.WriteString(d)
		case len(f) == 1 || strings.Trim(f, "0123456789") == "" || len(f) <= 5 && f == strings.ToUpper(f):
			out.WriteString(f)
		default:
			return said
		}
	}
	return out.String()
}
