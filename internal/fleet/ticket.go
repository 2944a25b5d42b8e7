package fleet

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/export"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/store"
)

// ticketHead is what tickets begin with.
const ticketHead = "strobe-ticket:"

// ticket lets who has no credentials push one session, of a service and of one of its days, under a name of the
// ticket's own.
type ticket struct {
	Name    string            `json:"name"`
	Service string            `json:"service"`
	Where   string            `json:"where"`
	Objects map[string]string `json:"objects"` // by key
}

// NewTicket makes a ticket for a session of service that began today or, for what runs past midnight, tomorrow. name
// tells its objects from others.
func NewTicket(b bucket.Bucket, service, name string, now time.Time, expires time.Duration) (string, error) {
	p, ok := b.(bucket.Presigner)
	if !ok {
		return "", fault.New(fault.Unsupported, "Give s3://BUCKET/PREFIX with --to.", "%s gives no tickets", b.Where())
	}
	t := ticket{Name: name, Service: service, Where: b.Where(), Objects: map[string]string{}}
	keys := []string{dbKey(name)}
	for _, table := range order {
		for n := range 2 {
			keys = append(keys, key(table, service, now.UTC().AddDate(0, 0, n).Format(time.DateOnly), name))
		}
	}
	for _, k := range keys {
		address, err := p.Presign(k, expires)
		if err != nil {
			return "", err
		}
		t.Objects[k] = address
	}
	data, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return ticketHead + base64.RawURLEncoding.EncodeToString(data), nil
}

// openTicket returns the bucket of a ticket, and what it is for; false: text is none.
func openTicket(text string) (*ticket, bool, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), ticketHead)
	if !ok {
		return nil, false, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	t := &ticket{}
	if err == nil {
		err = json.Unmarshal(data, t)
	}
	if err != nil || len(t.Objects) == 0 {
		return nil, true, fault.New(fault.ValidationError, "Give it whole, as strobe push --presign printed it.",
			"the ticket is damaged")
	}
	return t, true, nil
}

// fits reports an error unless the session is what the ticket is for.
func (t *ticket) fits(m store.Meta) error {
	switch service := export.Service(m); {
	case service != t.Service:
		return fault.New(fault.ValidationError, "Set `service` in .strobe/settings.json, or ask for a ticket with --service "+
			service+".", "the ticket is for service %s, session %s is of %s", t.Service, m.SessionID, service)
	case t.Objects[key("sessions", t.Service, export.Day(m), t.Name)] == "":
		return fault.New(fault.ValidationError, "Ask for a ticket on the day of the session.",
			"session %s is of %s, the ticket for other days", m.SessionID, export.Day(m))
	}
	return nil
}
