package learn

import "hob/platform/store/erase"

// Eraser returns the eraser for lessons and the owner's profile.
func (l *Learner) Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "lessons", Key: []string{"id"}, Names: []string{"text", "cue", "key", "failed"}, Event: "event", Session: "session"},
			{Name: "user_counts", Key: []string{"what", "name"}, Names: []string{"name"}},
			{Name: "user_preferences", Key: []string{"id"}, Names: []string{"text", "cue", "key"}, Event: "event", Session: "session"},
		},
		Besides: []string{"user_hours"},
		Forgot: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.version++
			l.lessons, l.wishes, l.loaded = nil, nil, false
		},
	}
}
