package speech

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return sayVoice{osrun.Programs{Getenv: o.Getenv}, "/usr/bin/say"} }
