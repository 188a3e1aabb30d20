package cron

import (
	"encoding/json"
	"testing"

	"hob/watchers"
	"hob/watchers/watcherstest"
)

func TestConformance(t *testing.T) {
	bad := []string{
		`{}`, `{"cron":""}`, `{"cron":"0 8 * * *","interval":"1h"}`, `{"cron":"0 8 * *"}`, `{"cron":"0 0 8 * * *"}`, `{"cron":"TZ=UTC"}`,
		`{"cron":"TZ=UTC 0 8 * * *"}`, `{"cron":"0 0 31 2 *"}`, `{"cron":"0 0 30 2 *"}`, `{"cron":"0 0 31 4,6 *"}`, `{"cron":"60 * * * *"}`,
		`{"cron":"@reboot"}`, `{"cron":", * * * *"}`, `{"cron":"0 8 * * 8"}`, `{"cron":"*/0 * * * *"}`, `{"cron":"0 8 * * *","tz":"Mars/Base"}`,
		`{"cron":"0 8 * * *","tz":"Local"}`, `{"cron":"0 8 * * *","anchor":"2026-01-01T00:00:00Z"}`, `{"interval":"soon"}`, `{"interval":"-1h"}`,
		`{"interval":"1ms"}`, `{"interval":"1h","anchor":"now"}`, `{"interval":"1h","tz":"UTC"}`, `{"cron":7}`,
	}
	for name, config := range map[string]string{
		"weekdays": `{"cron":"0 8 * * 1-5"}`,
		"zone":     `{"cron":"*/20 1-4 * * *","tz":"Europe/Vilnius"}`,
		"leap day": `{"cron":"0 0 29 2 *"}`,
		"interval": `{"interval":"90m","anchor":"2026-03-01T10:07:00+02:00"}`,
		"days":     `{"interval":"48h","anchor":"2026-03-01T09:00:00+02:00"}`,
		"every":    `{"cron":"@every 1h30m","anchor":"2026-03-01T10:07:00+02:00"}`,
		"daily":    `{"cron":"@daily"}`,
	} {
		t.Run(name, func(t *testing.T) {
			watcherstest.Run(t, watcherstest.Suite{
				New:    func() watchers.Driver { return New() },
				Config: func(*testing.T) json.RawMessage { return json.RawMessage(config) },
				Bad:    bad,
			})
		})
	}
}
