"""What the words in a column's name say about its role, in English, German, French and Spanish.

Of Italian, Portuguese and Dutch the usual words are known too.
A word speaks for one role or more, each with a strength: :data:`CERTAIN` where it hardly ever means anything else,
:data:`USUAL` where it mostly does, :data:`LIKELY` where other meanings are common.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from typing import TypeVar

from calib.data.interpret.names import LONGEST_COLUMN
from calib.data.interpret.roles import Role

CERTAIN, USUAL, LIKELY = 4.0, 3.0, 2.0

_WORDS: dict[Role, dict[float, str]] = {
    "outcome": {
        CERTAIN: """ytrue truelabel trueclass groundtruth gt gold actual actuals truth observed reference
            tatsaechlich wahr wahre wahrheit vrai vraie reel reelle verite observe real verdadero verdadera
            observado correct iscorrect right korrekt richtig correcte juste correcto correcta acierto hit
            truepositive tp accuracy exactmatch em exact agrees matches bonnereponse reale werkelijk werkelijke
            corretto corretta giusto giusta esatto esatta correto correta acertou acerto juist juiste""",
        USUAL: """label labels target outcome y ys true obs class klasse classe clase ziel zielvariable zielgroesse
            cible objetivo etiquette etiqueta result resultat resultado ergebnis ausgang endpoint expected answer
            species classvariable targetvariable responsevariable happened occurred eingetreten survenu ocurrido
            event ereignis evenement evento
            esito risultato uitkomst resultaat desfecho rotulo etichetta alvo""",
        LIKELY: """default defaulted ausfall ausgefallen defaut impago incumplimiento mora churn churned kuendigung
            gekuendigt resiliation attrition abandono baja fraud betrug fraude fraudulent died dead death gestorben
            tod verstorben deces decede muerte fallecido fallecimiento mortality mortalite mortalidad mortalitaet
            survived survival ueberlebt survie survecu sobrevivio malignant malign boesartig maligne maligno benign
            readmitted readmission conversion converted convert kauf gekauft achat achete compra compro purchased
            purchase bought click clicked klick clic relapse rueckfall rechute recaida recurrence disease krankheit
            maladie enfermedad krank malade enfermo diabetes stroke sepsis cancer krebs tumor infection infektion
            cancelled canceled storniert stornierung annulation annule cancelado paid bezahlt paye pagado repaid bad
            good status state diagnosis diagnose diagnostic diagnostico positive positiv positif positivo spam rain
            regen pluie lluvia failure ausfaelle panne fallo broken accepted approved accepte aprobado response
            responded reklamation claim schaden sinistre siniestro won gewonnen late delayed verspaetet retard
            retraso flag arrived noshow subscribed deposit recid recidivism recidive rueckfaellig expire expired
            admit admitted mutated passed solved geloest matched moroso morosa impaye precip precipitation fail
            failed fails win wins winner exited lapsed renewed retained bankrupt bankruptcy insolvent insolvenz
            delinquent delinquency chargeoff defect defective crash accident unfall accidente dropout phishing
            malware toxic pregnant remission progression progressed donated hired promoted terminated escalated
            escalation foreclosure hospitalized readmit readmission bestanden abbruch abgebrochen stoerung defekt
            sturz infarkt schlaganfall retoure echec reussite gagne defaillance hospitalise resilie abandonne fuga
            inadimplente inadimplencia obito morreu falecido falecimento cancelou cancelamento comprou desistencia
            evasao inadempiente inadempienza insolvenza decesso deceduto morto frode acquisto acquistato disdetta
            guasto opgezegd opzegging overleden overlijden sterfte wanbetaling gekocht storing ziekte malattia doenca
            gano recaida reingreso desercion devolucion infarto ictus mace faithful grounded factual
            supported verdict""",
    },
    "outputs": {
        CERTAIN: """prob probs proba probas probability probabilities p pd logit logits logprob logprobs logproba
            softmax posterior posteriors wahrscheinlichkeit wahrscheinlichkeiten wkt wk ws probabilite probabilites
            probabilidad probabilidades likelihood phat yprob yscore yproba yprobs yscores logodds propensity margin
            probabilita probabilidade probabilidades kans kansen waarschijnlijkheid
            decisionfunction odds pctr sigmoid lrp linearpredictor linearpredictors cloglog probit""",
        USUAL: """score scores risk risiko risque riesgo confidence confidences conf konfidenz confiance confianza
            certainty sicherheit certitude certeza seguridad pred preds ypred yhat prediction predictions predicted
            forecast vorhersage prognose prevision prediccion pronostico predict pop output outputs ausgabe sortie
            salida decision z fitted scored out pr lp estimate estimated schaetzung estimation estimacion puntuacion
            puntaje chance chances xg edf frax fit fits fittedvalues rischio risico risco zuversicht fiducia confidenza
            sicurezza certezza zekerheid vertrouwen confianca punteggio pontuacao voorspelling previsione previsao""",
        LIKELY: """model modell modele modelo scoring rating xgb xgboost lgbm lightgbm catboost gbm rf randomforest
            forest logreg logistic lr svm nn mlp cnn net ensemble classifier baseline challenger champion raw
            calibrated oof pre msp percent pct prozent pourcent porcentaje""",
    },
    "predicted": {
        CERTAIN: """predictedlabel predlabel predictedclass predclass ypredclass ypredlabel argmax predictedlabels
            predlabels predictedclasses predclasses""",
        USUAL: """pred preds ypred yhat predict prediction predictions predicted vorhersage vorhergesagt prognose
            prevu predite predit prediccion predicho predicha pronostico decision choice chosen guess top top1 alert
            hypothesis hyp recognized flagged classification previsto prevista
            predetto predetta voorspeld voorspelde""",
    },
    "cluster": {
        CERTAIN: "cluster clusters clusterid",
        USUAL: """patient patients patientin paciente subject sujet sujeto person persona personne participant
            proband teilnehmer user usuario utilisateur nutzer customer client kunde cliente household haushalt
            menage hogar family familie question frage pregunta item prompt document doc study studie etude estudio
            hospital klinik krankenhaus hopital clinic clinique clinica center centre zentrum centro branch filiale
            agence agencia sucursal succursale school schule ecole escuela store shop laden magasin tienda session
            sitzung video scene speaker sprecher dealer station practice praxis ward account konto compte cuenta
            machine maschine device geraet appareil vehicle firm company unternehmen entreprise empresa merchant
            image img bild imagen kunden patienten trial obligor psu herd herde troupeau rebano flock litter
            record recording aufnahme enregistrement grabacion""",
    },
    "weight": {
        CERTAIN: """sampleweight sampleweights weight weights gewicht gewichte gewichtung poids ponderation peso
            pesos ponderacion wt wgt exposure exposition exposicion ead iptw ipw sampwt samplewt finalwt fnlwgt
            perwt hhwt pwgtp fstuwt wtmec pweight fweight aweight wght pspwght dweight anweight""",
        USUAL: "w freq frequency haeufigkeit frequence frecuencia",
    },
    "group": {
        CERTAIN: """group groups subgroup subgroups gruppe untergruppe groupe sousgroupe grupo subgrupo segment
            segmento cohort kohorte cohorte sensitive type typ tipo modelname ageband agebucket agerange agebin
            altersklasse""",
        USUAL: """gender male female weiblich maennlich homme femme hombre mujer sex geschlecht sexe sexo genero
            region land country pays pais ethnicity race band bucket tier agegroup altersgruppe product produkt
            produit producto channel kanal canal sector sektor secteur domain site sites batch language sprache
            langue idioma dataset stratum strata schicht portfolio category kategorie categorie categoria model
            modell modele modelo llm learner scorer arm system department abteilung bundesland kanton province provincia
            stadt city ville ciudad state vintage""",
    },
    "features": {
        CERTAIN: """feature features feat feats x xs input inputs embedding embeddings emb pixel pixels merkmal
            merkmale caracteristique caracteristica var variable covariate kovariate pvalue last age alter edad
            previous prev prior past history lag vorher vorjahr precedent anterior ultimo dernier letzter baseline""",
    },
    "split": {
        CERTAIN: "split givensplit subset partition set part iscalibration iscal calibrationmask mask fold",
    },
    "id": {
        CERTAIN: """id ids uuid guid index idx identifier identifiant identificador kennung kennziffer rowid unnamed
            indexlevel name surname vorname nachname nom nombrecliente email mail phone filename file path pfad
            chemin url uri hash nr nummer num numero number nbr nro uid pk codigo matricule expediente aktenzeichen
            dossier""",
        USUAL: "row zeile ligne fila code ref image",
    },
    "ignore": {
        CERTAIN: """date datum fecha time timestamp datetime zeit heure hora created updated comment comments
            kommentar commentaire comentario note notes bemerkung remark remarks seed epoch latency runtime version
            logged config node nodeid leaf leafid""",
        LIKELY: "year month day jahr monat tag annee mois ano entropy",
        CERTAIN + 1: """lower upper lcl ucl lwr upr ci se stderr sd std stddev lb ub untere obere conflow confhigh
            esterror stderror""",
        USUAL: """text texts sentence message content description beschreibung title titel question prompt address""",
    },
}  # fmt: skip

_STRENGTHS: dict[str, dict[Role, float]] = {}
for _role, _by_strength in _WORDS.items():
    for _strength, _words in _by_strength.items():
        for _word in _words.split():
            _STRENGTHS.setdefault(_word, {})[_role] = _strength


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


CORRECT = _words_of(
    """correct iscorrect right korrekt richtig correcte juste correcto correcta acierto hit truepositive tp accuracy
    exactmatch em exact agrees matches bonnereponse corretto corretta giusto giusta esatto esatta correto correta
    acertou acerto juist juiste"""
)
"""Words for "this answer was right": such an outcome makes any score a confidence."""

RESPONSES = _words_of("answer antwort reponse respuesta risposta resposta antwoord response transcript translation")
WELL = _words_of("ok good gut bien bon bonne buono buona bueno buena bem boa goed")
"""Words for what a model answers, and for its being right: ``answer_ok``."""

MATCHES = _words_of("match matched")
"""Words that say so beside one for the truth: ``matched_gt``."""

ACHIEVED = _words_of("passed solved geloest matched faithful grounded factual supported verdict")
"""Words that say so beside a confidence; beside a probability they are any event."""

SUCCEEDS = CORRECT | ACHIEVED | _words_of("pass success successful succeeded ok bestanden reussi reussite exito bueno")
FAILS = _words_of(
    """erro errore errato errata sbagliato errado errada fout onjuist
    wrong incorrect error errors mistake fail fails failed failure nok ng falsch fehler inkorrekt faux erreur echec
    incorrecte incorrecto incorrecta fallo durchgefallen"""
)
"""Words for the two ends of a test or an answer: a score of one is not that of the other."""

UNSURE = _words_of(
    "uncertainty uncertain unsicherheit incertitude incertidumbre incertezza incerteza onzekerheid entropy"
)
"""Words for a score that is high where a model is not sure."""

GENERAL = _words_of(
    """y true label labels target outcome class classes actual truth ground gold is observed result status score
    model predicted prediction pred flag of the de la le el der die das"""
)
"""Words that outcome and outputs may share without being about the same thing."""

CONFIDENCE = _words_of(
    """confidence confidences conf konfidenz confiance confianza certainty sicherheit certitude certeza seguridad
    zuversicht fiducia confidenza sicurezza certezza zekerheid vertrouwen confianca msp lp"""
)
"""Words for the confidence in what was predicted, not in one class."""

CORRECT_OR_NOT = (
    *(("correct", "incorrect"), ("correct", "wrong"), ("right", "wrong"), ("richtig", "falsch")),
    *(("korrekt", "inkorrekt"), ("correcto", "incorrecto"), ("correcta", "incorrecta"), ("juste", "faux")),
    *(("corretto", "errato"), ("giusto", "sbagliato"), ("esatto", "errato"), ("goed", "fout"), ("juist", "onjuist")),
    *(("certo", "errado"), ("correto", "incorreto"), ("correto", "errado")),
)
"""Pairs of values that say whether an answer was right, whatever the column is called."""

PERCENT = _words_of("percent pct prozent pourcent porcentaje")
"""Words for numbers from 0 to 100."""

CLASS = _words_of("label labels class klasse classe clase category kategorie etiqueta etiquette")
"""Words that make a prediction one of a class: ``predicted_label`` holds no scores."""

ANSWERS = _words_of("label class answer antwort reponse respuesta risposta resposta antwoord")
"""Words for what was answered where another column is called the truth, as in a pipeline's label and score."""

PREDICTED = _words_of("""pred preds ypred yhat prediction predictions predicted scored vorhergesagt predit predicho""")

MODEL = _words_of("learner scorer model modell modele modelo llm system classifier method algorithm modelname")
"""Words for the model that gave a row of a table in long form."""

NEGATIONS = _words_of("nao nee niet no not non nein nicht 0 neg negative negativ negatif negativo false")
"""Words that turn an outcome round, whatever it is."""

RISK = _words_of("risk risiko risque riesgo rischio risico risco hazard danger gefahr peligro pd")
"""Words for the probability of something bad."""

SAYS_NO = _words_of(
    """nao nee niet sopravvivenza overleving sobrevivencia
    no not non nein nicht 0 neg negative negativ negatif negativo good gut bon bueno buena survival survive
    survived alive ueberleben survie supervivencia healthy gesund sain sano benign gutartig benin benigno stay
    retain retention legit legitimate genuine normal ok fine repaid paid false os pfs dfs efs rfs css"""
)
"""Words for the class that most outcomes are not named after: a column of them may give P(no event)."""

POINTS = _words_of("score scores scoring points punkte rating puntaje puntuacion model credit final total")
PAYS = _words_of("good paid repaid current performing gut bezahlt bon paye bueno pagado")
"""A name of points alone says nothing of a class, and of people who pay they are usually the higher the better."""

WELCOME = _words_of(
    """yield solvency solvent repayment payment creditworthiness bonitaet kreditwuerdigkeit solvabilite solvencia
    quality qualitaet qualite calidad health reliability reliable uptime availability engagement loyalty trust safety
    safe success fitness wellness remain remains remaining attended attendance current cured cure recovery recovered
    recover discharge discharged ontime punctual punctuality satisfaction authenticity authentic compliance compliant
    renewal adherence stable stability erfolg reussite exito genesung guerison remission pass working intact"""
)
"""Words for what people wish for: beside something bad that may happen, a column of them may give P(it does not)."""

CREDIT = _words_of("credit kredit scorecard behaviour behavior behavioural bureau fico schufa application")
"""Words for scores that are usually the higher the better a borrower is."""

WHEN = _words_of("during waehrend binnen innerhalb within pendant durante dentro durant")
"""Words after which a name says when, and no longer what."""

LEAST_PART, SHORTEST_PART = 4, 2
"""Letters of a word that is looked for in a compound; and of one that makes up all the rest of it."""

LEAST_STEM, LONG_STEM = 3, 7
"""Letters of a word that is short for another one; and of the beginning that two forms of one word share."""

ALONE = _words_of("x z w")
"""Letters that mean something alone or with a number, and nothing beside other words."""

FOLDED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "o"})
PIECES = re.compile(r"[^\W\d_]+|\d+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


Found = TypeVar("Found")


def remembered(function: Callable[[str], Found]) -> Callable[[str], Found]:
    """What a function says of the beginning of a name, once for each; whole names of strangers can be of any length."""
    of_beginning = lru_cache(maxsize=2**14)(function)
    return wraps(function)(lambda name: of_beginning(name[:LONGEST_COLUMN]))


@remembered
def tokens(name: str) -> tuple[str, ...]:
    """The words and numbers of a name in lower case without accents: ``P(Güte)_1`` is ("p", "guete", "1")."""
    spaced = CAMEL.sub("_", name).lower().translate(FOLDED)
    plain = "".join(c for c in unicodedata.normalize("NFKD", spaced) if not unicodedata.combining(c))
    return tuple(PIECES.findall(plain))


@remembered
def known_words(name: str) -> tuple[str, ...]:
    """The words of a name that the vocabulary knows: all of it, else two that belong together, else one by one.

    A longer word counts alone: ``y_pred`` is "ypred" and not "y". Of a compound such as "Ausfallwahrscheinlichkeit" the
    longest known beginning and end count.
    """
    words = list(tokens(name))
    if "".join(words) in _STRENGTHS:
        return ("".join(words),)
    # A letter after a number is a unit: the "y" of "1y" is a year.
    words = [word for j, word in enumerate(words) if not (len(word) == 1 and j and words[j - 1].isdecimal())]
    if any(word.isalpha() and word not in ALONE for word in words):  # the "z" of "prs_z" is no logit
        words = [word for word in words if word not in ALONE]
    found: list[str] = []
    while words:
        pair = "".join(words[:2])
        if len(words) > 1 and pair in _STRENGTHS:
            found.append(pair)
            words = words[2:]
            continue
        word = words.pop(0)
        found += [word] if word in _STRENGTHS else _parts(word)
    return tuple(found)


def _parts(word: str) -> list[str]:
    """The two known words that a compound is made of; else its longest known end and beginning."""
    for j in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        if {word[:j], word[j:]} <= _STRENGTHS.keys() and max(j, len(word) - j) >= LEAST_PART:
            return [word[:j], word[j:]]
    cuts = range(1, len(word) - LEAST_PART + 1)
    ends = (word[j:] for j in cuts if word[j:] in _STRENGTHS)
    starts = (word[:-j] for j in cuts if word[:-j] in _STRENGTHS)
    # What is left of a word may be chance, as "lower" of "flower" or "prob" of "problem".
    end = next((part for part in ends if len(word) - len(part) >= LEAST_PART or not only_sets_aside(part)), None)
    start = next((part for part in starts if len(part) > LEAST_PART or only_sets_aside(part)), None)
    return [part for part in (start, end) if part]


def only_sets_aside(word: str) -> bool:
    """Whether a word speaks of nothing but a column to leave alone."""
    return set(_STRENGTHS[word]) == {"ignore"}


def topic(word: str) -> str:
    """What a compound is about, without a word for outputs at its end: "ausfall" of "ausfallrisiko"."""
    ends = (word[j:] for j in range(LEAST_STEM, len(word) - SHORTEST_PART) if "outputs" in _STRENGTHS.get(word[j:], {}))
    return word.removesuffix(next(ends, ""))


@remembered
def strengths(name: str) -> Mapping[Role, float]:
    """How strongly the words of a name speak for each role, each word on its own."""
    words = known_words(name)
    said: dict[Role, float] = {}
    for word in words:
        for role, strength in _STRENGTHS[word].items():
            said[role] = max(said.get(role, 0.0), strength)
    if not PREDICTED.isdisjoint(words) and not CLASS.isdisjoint(words):
        said["predicted"] = CERTAIN + 1  # more than either word alone
    if "cluster" in said and is_attribute(name):
        del said["cluster"]
    return said


def is_attribute(name: str) -> bool:
    """Whether the last word says something of what the others name, as ``customer_age`` does of a customer."""
    last = next((word for word in reversed(tokens(name)) if len(word) > 1 and not word.isdecimal()), "")
    return not known_words(last)


def weighed(said: Mapping[Role, float], repeats: bool = False) -> dict[Role, float]:
    """What words say for each role; a stronger word for another role counts against it.

    ``prob_default`` speaks for outputs, since "prob" hardly ever means anything else, and against an outcome. An
    identifier of something may hold its rows together, and that of a class is its label.

    Parameters
    ----------
    repeats : whether the values repeat, so that an identifier among them names no rows.
    """
    named_by_id = {"cluster", "outcome", "predicted"} if repeats else {"cluster"}
    found = {}
    for role, strength in said.items():
        others = [said[other] for other in said if other != role and not (other == "id" and role in named_by_id)]
        strongest = max(others, default=0.0)
        found[role] = strength - (strongest if strongest > strength else 0.0)
    return found


def spoken_for(name: str) -> dict[Role, float]:
    """What a name says for each role, whatever the values are."""
    return weighed(strengths(name))


def has_word(name: str, words: Iterable[str]) -> bool:
    """Whether a name holds one of these words, alone or as two that belong together."""
    return not set(known_words(name)).isdisjoint(words)


def is_prediction(name: str) -> bool:
    """Whether a name speaks of what a model said."""
    said = spoken_for(name)
    return max(said.get("outputs", 0.0), said.get("predicted", 0.0)) > 0
