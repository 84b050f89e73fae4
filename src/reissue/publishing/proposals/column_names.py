"""What the name of a column says, in the words that registers use: English, German, French and Spanish.

Names are taken apart (`diag_1`, `primaryDiagnosis`, `BENE_SEX_IDENT_CD`), and the parts are looked up. How a word is
written here says how it is matched: `age` is a part by itself, `diagnos-` begins one, `-formin` ends one (the stems of
international names of drugs), and `*krank*` may stand anywhere, as German puts words together.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

PERSON = """
    patient- person persons subject citizen customer client employee member beneficiary bene insured owner pid mrn
    ssn uid pnr pseudonym- *versicherte* kunde kundin mitarbeiter- *patienten* assure assuree identifiant paciente
    cliente empleado dni nif nhs participant respondent idcode personid patid student pupil
"""
ID = "id ids nr no nbr num number numero nummer identifier identifiant identificador key code_id uuid guid idcode"
EVENT = """
    encounter visit stay stays claim episode case event fall fallnummer *aufenthalt* sejour episodio visita
    admission row record line index segment transaction order specimen sample sequence seq rowid
"""
ROW = "row index line rowid rownumber record recno sequence seq unnamed"
DIRECT = """
    name names vorname nachname familienname surname firstname lastname forename nom prenom nombre apellido- mail
    email *mail* phone telephone telefon- tel telefono mobile street strasse rue calle address adresse direccion
    anschrift url ip ipaddress passport iban ssn initials licence plate
"""
FREE_TEXT = """
    comment- note notes text remark- bemerkung- kommentar- freitext remarque- commentaire- observaciones notas
    narrative memo free- anamnese summary
"""
POSTCODE = "zip zipcode postcode postal postleitzahl plz *postcode* *postal* cp fsa"
BIRTH = "birth- born dob geburt- *geburt* naissance nacimiento birthdate birthday gebdat"
AGE = "age ages alter edad agep age_group lebensalter *altersgruppe*"
SEX = "sex gender geschlecht sexe sexo male female"
PLACE = """
    city town ort wohnort stadt ville ciudad municipality gemeinde commune municipio county kreis landkreis district
    state region province provincia kanton canton bundesland land country pays pais borough neighbourhood
    neighborhood ward_name lsoa nuts residence citizenship nationalit- *staatsang* nacionalidad birthplace pobp
    south smsa metro rural urban msa hometown suburb departement departamento comuna
"""
KNOWN = """
    marital mar *familienstand* civil education *bildung* schl school *schul* grade collgrad degree race rac ethnic-
    hispanic language sprache langue idioma household relationship relp relation veteran military mil nativity
    native immigra- migration mig cit citizen msp esp anc ancestry cohort nev height cvd_name
"""
WORK = """
    occupation occ occp job profession beruf- *beruf* profesion workclass worker cow industry ind employer employment
    esr hours wkhp tenure weeks
"""
DIAGNOSIS = """
    diag diagnos- *diagnos* dx icd icd9 icd10 disease illness condition- disorder *krankheit* *erkrankung* maladie
    pathologie enfermedad comorbid- drg snomed dgns morbidity
"""
OUTCOME = """
    outcome readmi- death- died deceased dead mortality surviv- decease- deces fallec- verstorben *todes* sterbe-
    relapse remission recover- resolved fatal- discharg- dschrg entlassung sortie alta
"""
CLINICAL = """
    hiv aids hepat- covid infect- *infekt* copd chf cncr cancer krebs tumor tumour onco- diabet- alzh- depress-
    stroke strk- isch- ischm- osteo- chrn- chronic- esrd kidney renal cardi- heart hyperten- asthma epilep- dement-
    arthrit- symptom- treatment- therap- behandlung traitement- tratamiento- drug drugs medication- medikament-
    medicament- atc prescri- dose insulin gluc- glu *a1c* hba lab labs test tests result results resultat- befund
    blood *blut* bmi cholest- chol hdl ldl trigly- haemo- hamo- hemo- kreatinin- creatinin- leuko- leuco- thrombo-
    erythro- ferritin troponin crp tsh gfr egfr systol- diastol- puls pulse spo2 dl mmol umol mmhg pressure icu
    intubat- hospital- klinik clinic- inpatient outpatient emergency procedure- surgery surgical operation- ops
    allerg- pregnan- schwanger- grossesse embarazo fertil- fer disab- *behinderung* handicap discapacidad mental
    psych- addict- alcohol smok- tobacco genotype genetic- mutation biops- severity prognos- vaccin- impf- outbreak
    exposure medical medic- medizin- clinical admission admtng admis- aufnahme disposition specialty specialit-
    icd_code weight gewicht poids peso dis dear deye drem ddrs dout dphy
"""
DRUGS = """
    -formin -glinide -propamide -gliptin -glipton -glitazone -gliflozin -glutide -glyburide -glipizide -glimepiride
    -hexamide -butamide -azamide -arbose -glitol -statin -pril -sartan -olol -dipine -cillin -mycin -floxacin
    -cycline -azole -prazole -tidine -mab -tinib -vudine -navir -tegravir -caine -zepam -zolam -barbital -oxetine
    -triptan -semide -thiazide -parin -sone -solone -terol -profen -coxib -setron -pidem -peridone -apine -lukast
    -dronate
"""
FINANCIAL = """
    salary income wage wages earning- gehalt einkommen *einkommen* lohn salaire- revenu- salario- ingreso- renta
    debt- schuld- dette- deuda- credit- kredit- loan- balance capital dividend- pension- rente benefit- welfare tax
    taxes steuer- impot- impuesto- payment- payout cost costs kosten charge- price amount account pincp wagp saving-
    asset- wealth mortgage rent unemploy- *arbeitslos* ue payer insurance- *versicherung* coverage cvrage cvrg hmo
    pubcov expend- spend- revenue profit poverty
"""
PRIVATE = """
    crime- offen- criminal- convict- verdict- sentence- arrest- straf- religio- konfession relig- *confession*
    politic- party vote- union gewerkschaft syndic- sindic- sexual- orientation belief- abuse- violence
"""
WEAK = """
    status state_of event value score level result class classification type risk category stage rating flag reason
    code
"""
WHEN = """
    date datum fecha time zeit heure hora year years jahr annee ano month monat mois mes day days tag jour dia start
    stop begin beginn end ende from to timestamp period quarter quartal wave admitted admsn dt release reported
    futime zeitpunkt visitdate
"""
WEIGHT = "instance_weight sampling survey instance pwgtp wgt fnlwgt wtfa perwt"
PERIOD = "year period release quarter wave month jahr periode annee ano quartal monat snapshot state_date"


@dataclass(frozen=True)
class Meaning:
    """What the words of a name stand for."""

    tokens: tuple[str, ...]
    senses: frozenset[str]

    def __contains__(self, sense: str) -> bool:
        return sense in self.senses


_VOCABULARY = {
    "person": PERSON, "id": ID, "event": EVENT, "row": ROW, "direct": DIRECT, "free text": FREE_TEXT,
    "postcode": POSTCODE, "birth": BIRTH, "age": AGE, "sex": SEX, "place": PLACE, "known": KNOWN,
    "work": WORK,
    "diagnosis": DIAGNOSIS, "outcome": OUTCOME, "clinical": CLINICAL, "drug": DRUGS, "financial": FINANCIAL,
    "private": PRIVATE, "weak": WEAK, "when": WHEN, "weight": WEIGHT, "period": PERIOD,
}  # fmt: skip
SENSITIVE = ("diagnosis", "outcome", "clinical", "drug", "private", "financial")
"""What must not be tied to a person; what comes earlier is published rather."""
QUASI = ("birth", "age", "sex", "postcode", "place", "known", "work")
"""What an outsider may know; of what people do for a living that is less sure than of the others."""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """One pattern for each sense, over the parts of a name with a space around each."""
    return {sense: re.compile("|".join(map(_pattern, words.split()))) for sense, words in _VOCABULARY.items()}


def _pattern(word: str) -> str:
    if word.startswith("*"):
        return re.escape(word.strip("*"))
    if word.startswith("-"):
        return rf"[a-z]{{2,}}{re.escape(word[1:])} "
    if word.endswith("-"):
        return rf" {re.escape(word[:-1])}[a-z]*"
    return rf" {re.escape(word.replace('_', ' '))} "


def words_in(name: str) -> tuple[str, ...]:
    """The parts of a name, in small letters without accents."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return tuple(re.findall(r"[a-z]+|[0-9]+", apart.lower()))


def meaning_of(name: str) -> Meaning:
    """What a name says."""
    tokens = words_in(name)
    apart = "".join(f" {token} " for token in tokens).replace("  ", " ")
    doubled = apart.replace(" ", "  ")  # so that neighbours do not share the space between them
    together = f" {''.join(tokens)} "  # idcode, A1Cresult
    senses = {
        sense
        for sense, pattern in _patterns().items()
        if pattern.search(apart) or pattern.search(doubled) or (len(tokens) <= 3 and pattern.search(together))
    }
    return Meaning(tokens, frozenset(senses))
