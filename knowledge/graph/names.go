package graph

import (
	"strings"
	"sync"

	"hob/platform/text/textnorm"
)

// Pairs of a relation and its inverse.
var inverseRelations = [][2]string{
	{"works_at", "employs"},
	{"lives_in", "home_of"},
	{"lives_at", "home_of"},
	{"parent_of", "child_of"},
	{"manager_of", "reports_to"},
	{"owns", "owned_by"},
	{"drives", "driven_by"},
	{"member_of", "has_member"},
	{"studies_at", "has_student"},
	{"part_of", "has_part"},
	{"located_in", "location_of"},
	{"born_in", "birthplace_of"},
	{"made_by", "made"},
	{"client_of", "serves"},
	{"landlord_of", "tenant_of"},
	{"teacher_of", "student_of"},
	{"doctor_of", "patient_of"},
	{"uncle_or_aunt_of", "nephew_or_niece_of"},
	{"grandparent_of", "grandchild_of"},
	{"attends", "attended_by"},
	{"knows", "knows"},
	{"married_to", "married_to"},
	{"engaged_to", "engaged_to"},
	{"partner_of", "partner_of"},
	{"sibling_of", "sibling_of"},
	{"cousin_of", "cousin_of"},
	{"friend_of", "friend_of"},
	{"works_with", "works_with"},
	{"neighbour_of", "neighbour_of"},
	{"related_to", "related_to"},
}

// InverseRelation returns the name of a relation seen from the other end.
func InverseRelation(name string) string {
	for _, p := range inverseRelations {
		if p[0] == name {
			return p[1]
		}
		if p[1] == name {
			return p[0]
		}
	}
	if strings.HasPrefix(name, "is_") && strings.HasSuffix(name, "_of") {
		return "has_" + strings.TrimSuffix(strings.TrimPrefix(name, "is_"), "_of")
	}
	return "inverse_of_" + name
}

// CanonicalRelation returns the canonical name of a relation: "works for" becomes works_at, and
// "employs" becomes works_at in the other direction (turned).
func CanonicalRelation(name string) (normal string, turned bool) {
	w := textnorm.FoldedWords(strings.ReplaceAll(name, "_", " "))
	for len(w) > 1 && (w[0] == "is" || w[0] == "a" || w[0] == "an" || w[0] == "the" || w[0] == "are") {
		w = w[1:]
	}
	s := strings.Join(w, "_")
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "")
	}
	if n, ok := relationSynonyms[s]; ok {
		s = n
	}
	if role, ok := strings.CutSuffix(s, "_of"); ok && byRoles()[role].name != "" {
		r := byRoles()[role]
		return r.name, !r.fromRole // in "Ana sister of Tom", the relation starts at the person with the role
	}
	for _, p := range inverseRelations {
		if s == p[1] && p[0] != p[1] {
			return p[0], true
		}
	}
	return s, false
}

var relationSynonyms = map[string]string{
	"works_for": "works_at", "employed_by": "works_at", "employee_of": "works_at", "work_at": "works_at", "work_for": "works_at", "lives_at": "lives_in", "resides_in": "lives_in",
	"moved_to": "lives_in", "husband_of": "married_to", "wife_of": "married_to", "spouse_of": "married_to", "colleague_of": "works_with", "works_together_with": "works_with",
	"manages": "manager_of", "boss_of": "manager_of", "has": "owns", "possesses": "owns", "located_at": "located_in", "belongs_to": "part_of",
}

// roleRelation is the relation that a role such as "sister" implies.
type roleRelation struct {
	name string
	// fromRole is set if the relation starts at the person with the role.
	fromRole bool
}

// byRoles returns the relations by folded role.
var byRoles = sync.OnceValue(func() map[string]roleRelation {
	m := map[string]roleRelation{}
	for name, roles := range map[string]string{
		"sibling_of<":       "sister brother sibling schwester bruder soeur frere hermana hermano sorella fratello sesuo brolis siostra brat",
		"married_to<":       "wife husband spouse frau mann ehefrau ehemann femme mari esposa marido moglie zmona vyras zona maz",
		"engaged_to<":       "fiance fiancee",
		"partner_of<":       "partner girlfriend boyfriend",
		"parent_of<":        "mother father mum mom mam dad parent parents mutter vater mere pere madre padre mama tetis matka ojciec",
		"parent_of>":        "daughter son child kid tochter sohn kind fille fils hija hijo figlia figlio dukra sunus corka syn",
		"grandparent_of<":   "grandmother grandfather grandma grandpa oma opa",
		"grandparent_of>":   "granddaughter grandson",
		"uncle_or_aunt_of<": "aunt uncle tante onkel",
		"uncle_or_aunt_of>": "niece nephew",
		"cousin_of<":        "cousin",
		"friend_of<":        "friend freund freundin ami amie amigo amiga amico amica draugas drauge przyjaciel",
		"works_with<":       "colleague coworker kollege kollegin collegue kolega",
		"neighbour_of<":     "neighbour neighbor nachbar nachbarin voisin voisine vecino vicino sasiad",
		"manager_of<":       "boss manager supervisor chef chefin jefe capo szef",
		"manager_of>":       "employee assistant intern",
		"landlord_of<":      "landlord landlady vermieter vermieterin",
		"doctor_of<":        "doctor gp dentist therapist",
		"teacher_of<":       "teacher tutor coach",
		"owns>":             "dog cat horse parrot rabbit hamster pet hund katze chien chat perro gato cane gatto suo kate pies kot",
		"client_of<":        "client customer",
	} {
		for _, r := range strings.Fields(roles) {
			m[r] = roleRelation{name[:len(name)-1], strings.HasSuffix(name, "<")}
		}
	}
	return m
})
