package speech

import "hob/platform/osrun"

func newBackend(o Options) backend { return say{osrun.Programs{Getenv: o.Getenv}, "/usr/bin/say"} }
