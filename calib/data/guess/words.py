"""Words in the names of columns, by what they say; by language, and by the tool that writes them.

Lower case, without accents: ``Güte`` is ``guete``. Two words that belong together are written as one: ``y_true`` is
``ytrue``. Add a word to the list of its meaning; nothing else needs to know it.
"""

from __future__ import annotations


def _words(**lists: str) -> frozenset[str]:
    """All words of some lists; the name of each list is a language or a tool."""
    return frozenset(word for text in lists.values() for word in text.split())


PROBABILITY = _words(
    en="""p prob probs proba probas probability probabilities likelihood propensity posterior posteriors odds
        logit logits logodds logprob logprobs logp logproba softmax sigmoid margin cloglog probit phat""",
    de="wahrscheinlichkeit wahrscheinlichkeiten wkt wk ws eintrittswahrscheinlichkeit",
    fr="probabilite probabilites",
    es="probabilidad probabilidades",
    it_pt_nl="probabilita probabilidade probabilidades kans kansen waarschijnlijkheid",
    credit="pd",
    scikit_learn="yprob yproba yprobs yscore yscores decisionfunction",
    r="linearpredictor linearpredictors lrp fittedvalues",
    advertising="pctr",
    weather="pop",
)
"""Names of outputs that hardly ever mean anything else."""

SCORE = _words(
    en="""score scores risk confidence confidences conf certainty pred preds prediction predictions predicted
        predict forecast output outputs decision out raw scored fitted fit fits estimate estimated estimation
        chance chances""",
    de="risiko konfidenz sicherheit zuversicht vorhersage prognose ausgabe schaetzung",
    fr="risque confiance certitude prevision sortie estimation",
    es="riesgo confianza certeza seguridad prediccion pronostico salida estimacion puntuacion puntaje",
    it_pt_nl="""rischio fiducia confidenza sicurezza certezza punteggio previsione risico zekerheid vertrouwen
        voorspelling risco confianca pontuacao previsao""",
    tools="ypred yhat pre pr z lp msp edf frax xg uncertainty",
)
"""Names of outputs that may mean other things."""

MODELS = _words(
    en="""model classifier baseline challenger champion calibrated uncalibrated oof ensemble forest randomforest
        logistic logreg logisticregression xgb xgboost lgbm lightgbm catboost gbm glm rf lr svm nn mlp cnn net
        scoring rating""",
    de="modell",
    fr="modele",
    es="modelo",
)
"""Names of models: what such a column of fractions holds is a score."""

PERCENT = _words(
    en="percent pct percentage perc",
    de="prozent",
    fr="pourcent pourcentage",
    es="porcentaje",
    nl_pt="procent",
)
"""Words for numbers from 0 to 100."""

CONFIDENCE = _words(
    en="confidence confidences conf certainty msp",
    de="konfidenz sicherheit zuversicht",
    fr="confiance certitude",
    es="confianza certeza seguridad",
    it_pt_nl="fiducia confidenza sicurezza certezza zekerheid vertrouwen confianca",
)
"""The confidence in what was predicted, rather than in one class."""

UNSURE = _words(
    en="uncertainty uncertain entropy",
    de="unsicherheit",
    fr="incertitude",
    es="incertidumbre",
    it_pt_nl="incertezza incerteza onzekerheid",
)
"""High where a model is not sure."""

TRUTH = _words(
    en="""ytrue truelabel trueclass groundtruth gt gold actual actuals truth true observed obs reference ref
        reallabel real""",
    de="tatsaechlich tatsaechliche wahr wahre wahrer wahrheit beobachtet istwert",
    fr="vrai vraie reel reelle verite observe",
    es="real verdadero verdadera observado",
    it_pt_nl="reale vero osservato werkelijk werkelijke verdadeiro",
    scikit_learn="ytest",
)
"""Names of the true class."""

LABEL = _words(
    en="""label labels lbl cls target targets outcome y ys class result endpoint expected answer species event
        happened occurred response resp responsevariable classvariable targetvariable""",
    de="klasse ziel zielvariable zielgroesse ergebnis ausgang ereignis ereigniss eingetreten",
    fr="classe cible etiquette resultat evenement survenu",
    es="clase objetivo etiqueta resultado evento ocurrido desenlace",
    it_pt_nl="esito risultato etichetta uitkomst resultaat gebeurtenis desfecho rotulo alvo",
)
"""Names of a class that may be the true one."""

CORRECT = _words(
    en="""correct iscorrect correctness right hit truepositive tp accuracy exact exactmatch em acc agrees matches
        matched""",
    de="korrekt richtig",
    fr="correcte juste",
    es="correcto correcta acierto acerto",
    it_pt_nl="corretto corretta giusto giusta esatto esatta correto correta acertou juist juiste",
    lm_evaluation_harness="acc accnorm exactmatch",
)
"""The answer was right; such a column makes a score a confidence."""

RIGHT = frozenset(word for word in CORRECT if len(word) > 3)
"""Such words beside a class mean the true one: ``correct_answer``."""

ACHIEVED = _words(
    en="passed solved faithful grounded factual supported verdict match",
    de="geloest bestanden",
)
"""The same beside a confidence; beside a probability it is any event."""

RESPONSES = _words(
    en="answer response transcript translation",
    de="antwort",
    fr="reponse",
    es="respuesta",
    it_pt_nl="risposta resposta antwoord",
)
WELL = _words(
    en="ok good",
    de="gut",
    fr="bien bon bonne",
    es="bueno buena",
    it_pt_nl="buono buona bem boa goed",
)
"""Beside a word for what a model answers: ``answer_ok``."""

GOOD = _words(
    en="""good ok fine healthy benign normal legit legitimate genuine alive survive survived survival os pfs dfs
        efs rfs css stay stayed retain retained retention renewed renewal repaid paid repayment solvency solvent
        creditworthiness quality health reliability reliable uptime availability engagement loyalty trust safety
        safe success successful fitness wellness remain remains remaining attended attendance current cure cured
        recovery recovered recover discharge discharged ontime punctual satisfaction compliance adherence stable
        stability remission pass intact yield working authentic authenticity""",
    de="gut gesund gutartig ueberleben ueberlebt bezahlt bonitaet kreditwuerdigkeit qualitaet erfolg genesung",
    fr="bon sain benin survie survecu paye solvabilite qualite reussite guerison",
    es="bueno buena sano benigno supervivencia sobrevivio pagado solvencia calidad exito",
    it_pt_nl="sopravvivenza overleving sobrevivencia pago",
)
"""What people wish for; most outcomes are named after the opposite."""

BAD = _words(
    en="""bad default defaulted churn churned attrition fraud fraudulent died dead death mortality malignant
        malignancy readmitted readmission readmit relapse recurrence disease ill illness diabetes stroke sepsis
        cancer tumor infection infected failure fail fails failed broken late delayed delay noshow cancelled
        canceled cancellation recid recidivism bankrupt bankruptcy insolvent insolvency delinquent delinquency
        chargeoff defect defective crash accident dropout phishing malware toxic toxicity spam progression
        progressed foreclosure hospitalized escalated escalation terminated expired expire lapsed exited mace
        bleed bled bleeding fall fell wrong incorrect error errors mistake scrap pathogenic anomaly attack
        breach loss lost""",
    de="""ausfall ausgefallen kuendigung gekuendigt abwanderung betrug gestorben tod verstorben sterbe boesartig
        rueckfall krank krankheit schlaganfall infarkt infektion ausfaelle storniert stornierung verspaetet
        verspaetung rueckfaellig insolvenz stoerung defekt sturz abbruch abgebrochen retoure schaden falsch
        fehler schwund""",
    fr="""defaut defaillance resiliation resilie fraude deces decede maligne rechute maladie malade panne
        annulation annule retard impaye echec abandon abandonne faux erreur""",
    es="""impago incumplimiento mora moroso morosa abandono baja fraude muerte fallecido fallecimiento maligno
        recaida enfermedad enfermo fallo cancelado retraso siniestro incorrecto incorrecta reingreso desercion""",
    it_pt_nl="""inadempiente inadempienza insolvenza frode decesso deceduto morto disdetta guasto malattia errore errato
        wanbetaling opzegging opgezegd opzeg overleden overlijden sterfte storing ziekte fout onjuist
        inadimplente inadimplencia obito morreu falecido falecimento cancelou cancelamento desistencia evasao
        doenca fuga erro""",
)
"""Events that people fear, and an outcome is named after."""

EVENTS = (
    BAD
    | GOOD
    | ACHIEVED
    | _words(
        en="""conversion converted convert purchased purchase bought buy click clicked positive negative rain status
        state diagnosis diagnostic accepted approved approve claim won win wins winner flag arrived subscribed
        subscribe deposit admit admitted mutated progression donated donate hired promoted pregnant precip
        response responded upsell opened replied flood frost snow storm goal sold rented enrolled graduated
        voted employed bloom allergic mutation approval cvd chd hypertension outbreak faithful renew escalate
        visit booked referral""",
        de="kauf gekauft klick reklamation regen bestellt zugesagt angenommen gewonnen schadenfall abschluss diagnose",
        fr="achat achete clic pluie sinistre accepte gagne",
        es="compra compro clic lluvia aprobado respuesta infarto ictus devolucion",
        it_pt_nl="acquisto acquistato gekocht comprou pioggia regn chuva",
    )
)
"""What may happen; a column of two values with such a name may be the outcome."""

RISK = _words(
    en="risk hazard danger pd",
    de="risiko gefahr",
    fr="risque",
    es="riesgo peligro",
    it_pt_nl="rischio risico risco",
)
"""The probability of something bad."""

POINTS = _words(
    en="score scores scoring points rating final total model",
    de="punkte",
    es="puntaje puntuacion",
)
CREDIT = _words(
    en="credit bureau fico behaviour behavior behavioural application scorecard",
    de="kredit schufa",
)
"""Points, of which more may be better; of credit they usually are."""

FAILS = _words(
    en="wrong incorrect error errors mistake fail fails failed failure nok ng",
    de="falsch fehler inkorrekt durchgefallen",
    fr="faux erreur echec incorrecte",
    es="incorrecto incorrecta fallo",
    it_pt_nl="erro errore errato errata sbagliato errado errada fout onjuist",
)
SUCCEEDS = (
    CORRECT
    | ACHIEVED
    | _words(
        en="pass passfail success successful succeeded ok",
        de="bestanden",
        fr="reussi reussite",
        es="exito bueno",
    )
)
"""The two ends of a test or an answer."""

NEGATIONS = _words(
    en="no not non neg negative false without 0",
    de="nein nicht kein negativ",
    fr="non pas negatif",
    es="no negativo",
    it_pt_nl="nao nee niet",
)
"""Words that turn an outcome round."""

PREDICTED = _words(
    en="""pred preds ypred yhat predict prediction predictions predicted decision choice chosen guess top top1
        alert hypothesis hyp recognized flagged classification argmax assigned detected found extracted read
        transcribed inferred""",
    de="vorhersage vorhergesagt vorhergesagte prognose",
    fr="prevu predite predit",
    es="prediccion predicho predicha pronostico",
    it_pt_nl="previsto prevista predetto predetta voorspeld voorspelde",
    spss="pgr",
    azure_ml="scored scoredlabels",
)
"""The class that a model chose."""

CLASS = _words(
    en="label labels class category tag",
    de="klasse kategorie",
    fr="classe etiquette",
    es="clase etiqueta",
)
"""After a word for a prediction these make it one of a class: ``predicted_label``."""

CLUSTER = _words(
    en="""cluster clusters patient subject person participant user customer client household family question item
        prompt document doc study hospital clinic center centre branch school store shop session video scene
        speaker dealer station practice ward account machine device vehicle firm company merchant image img
        trial obligor psu herd flock litter record recording team plant farm site""",
    de="""patientin proband teilnehmer nutzer kunde kunden haushalt familie frage klinik krankenhaus zentrum
        filiale schule laden sitzung sprecher maschine geraet unternehmen praxis konto bild patienten aufnahme
        herde""",
    fr="""sujet personne utilisateur menage famille hopital clinique centre agence succursale ecole magasin compte
        appareil entreprise troupeau enregistrement""",
    es="""paciente sujeto persona usuario cliente hogar familia pregunta clinica centro sucursal escuela tienda
        cuenta empresa rebano grabacion""",
    lm_evaluation_harness="docid",
)
"""What has several rows."""

WEIGHT = _words(
    en="sampleweight sampleweights weight weights wt wgt exposure ead iptw ipw ipcw w freq frequency",
    de="gewicht gewichte gewichtung haeufigkeit",
    fr="poids ponderation frequence",
    es="peso pesos ponderacion frecuencia",
    surveys="""sampwt samplewt finalwt fnlwgt perwt hhwt pwgtp fstuwt wtmec pweight fweight aweight wght pspwght
        dweight""",
)
BODY = _words(
    en="height bmi",
    de="groesse koerpergroesse",
    fr="taille imc",
    es="altura estatura talla",
)
"""Beside these a weight is that of a body."""

GROUP = _words(
    en="""group groups subgroup subgroups segment cohort sensitive type modelname ageband agebucket agerange
        agebin gender male female sex region land country ethnicity race band bucket tier agegroup product
        channel sector domain site sites batch language dataset stratum strata portfolio category model learner
        scorer arm system department province city state vintage subject topic team llm""",
    de="""gruppe untergruppe kohorte typ altersklasse weiblich maennlich geschlecht produkt kanal sektor sprache
        schicht kategorie modell abteilung bundesland kanton stadt""",
    fr="groupe sousgroupe cohorte homme femme sexe pays produit canal secteur langue categorie modele ville",
    es="""grupo subgrupo segmento cohorte tipo hombre mujer sexo genero pais producto canal idioma categoria
        modelo ciudad""",
)
"""What rows have in common without belonging together."""

MODEL = _words(
    en="learner scorer model modelname llm system classifier method algorithm",
    de="modell",
    fr="modele",
    es="modelo",
)
"""The model that gave a row, in a table with a row for each model and example."""

EARLIER = _words(
    en="last previous prev past history lag",
    de="vorher vorjahr",
    fr="precedent dernier",
    es="anterior ultimo",
)
PAST = _words(
    en="age pvalue baseline feature features feat feats var variable covariate",
    de="alter merkmal",
    es="edad",
)
"""What was known before; no outcome and no output, whatever else the name says."""

LIMITS = _words(
    en="lower upper lcl ucl lwr upr ci se stderr sd std stddev lb ub conflow confhigh esterror stderror",
    de="untere obere",
)
"""The ends of an interval, or its error."""

SPLIT = _words(
    en="split givensplit subset partition set part fold iscalibration iscal calibrationmask mask",
)
TIME = _words(
    en="date time timestamp datetime week yearweek calendarweek month day year at opened created updated closed",
    de="datum zeit stichtag woche kalenderwoche monat tag jahr eroeffnet",
    fr="date heure semaine mois jour annee",
    es="fecha hora semana mes dia ano",
)
ID = _words(
    en="""id ids uuid guid index idx identifier rowid unnamed indexlevel name surname email mail phone filename
        file path url uri hash number nbr uid pk row code ref key""",
    de="kennung kennziffer vorname nachname pfad nr nummer zeile aktenzeichen",
    fr="identifiant nom chemin num numero ligne",
    es="identificador codigo matricule expediente fila num numero nro",
    tidymodels="config",
    mlr3="rowids",
)
TEXT = _words(
    en="""text texts sentence message content description title comment comments note notes remark remarks address
        prompt question seed epoch latency runtime version node leaf""",
    de="beschreibung titel kommentar bemerkung",
    fr="commentaire",
    es="comentario",
)

GENERAL = (
    TRUTH
    | LABEL
    | SCORE
    | PROBABILITY
    | PERCENT
    | _words(
        en="is was has flag of the status in an",
        de="der die das",
        fr="de la le",
        es="el",
    )
)
"""Words that say nothing of what outcome and outputs are about."""

KNOWN = frozenset().union(
    *(
        PROBABILITY,
        SCORE,
        MODELS,
        PERCENT,
        CONFIDENCE,
        UNSURE,
        TRUTH,
        LABEL,
        CORRECT,
        ACHIEVED,
        RESPONSES,
        GOOD,
        EVENTS,
    ),
    *(
        RISK,
        FAILS,
        SUCCEEDS,
        PREDICTED,
        CLASS,
        CLUSTER,
        WEIGHT,
        BODY,
        GROUP,
        MODEL,
        EARLIER,
        PAST,
        LIMITS,
        SPLIT,
        TIME,
        ID,
        TEXT,
    ),
)
"""Every word."""

LONG = frozenset(word for word in KNOWN if len(word) >= 5)
ENDS = LONG | {"risk", "prob", "kans"}
"""Words that are also looked for at the ends of a compound such as "Ausfallwahrscheinlichkeit"."""
