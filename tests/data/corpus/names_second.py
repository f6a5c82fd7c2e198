"""The second set of recipes: other data sets, programs and languages than the first; for measuring only."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# Credit, insurance, fraud, staff.
hmeq_miner :: LOAN = int 1100 89900 | VALUE = money | JOB = cat Mgr/Office/Other | DEBTINC = positive |
    BAD = y 0/1 rate=.2 | P_BAD1 = p of=1 d=6 | P_BAD0 = p of=0 d=6 | I_BAD = pred
miner_fixed_names :: ACCT_NO = id A | CHARGEOFF = y N/Y rate=.12 | EM_CLASSIFICATION = pred |
    EM_EVENTPROBABILITY = p d=6
prosper :: ListingKey = uuid | ProsperScore = int 1 11 | BorrowerAPR = positive | Defaulted = y False/True rate=.17 |
    EstimatedDefaultProbability = p d=5
fannie :: seller = cat Alpha/Beta/Gamma | orig_upb = int 40000 700000 | fico_orig = int 620 840 | ltv = int 20 97 |
    ever_90dpd = y 0/1 rate=.08 | prob_90dpd = p d=6
kredit_de layout=tab_comma :: Antragsnr = rownum 88001 | Nettoeinkommen = money | Schufa = int 60 99 |
    Zahlungsausfall = y Nein/Ja rate=.12 | P(Ausfall) = p d=3
leasing_at layout=excel :: Vertragsnummer = id LV | Restwert = thousands | notleidend = y 0/1 rate=.1 |
    Ausfallrisiko = p s=pct d=2 unit=~%
emprunt layout=comma :: N° contrat = rownum 7001 | montant = thousands | impayé = y Non/Oui rate=.15 |
    risque d'impayé = p d=4
mora_es layout=quoted_semicolon :: cuenta = id CU | antigüedad = int 0 240 | mora = y no/sí rate=.18 |
    prob_mora = p d=5
porto layout=index :: ps_ind_01 = int 0 7 | ps_car_13 = unit | ps_reg_02 = unit | claim_filed = y 0/1 rate=.08 |
    claim_prob = p d=6
motor_freq :: IDpol = rownum 139 | DrivAge = age | BonusMalus = int 50 230 | had_claim = y 0/1 rate=.1 |
    p_claim = p d=5 | ExposureYears = weight
paysim :: step = int 1 743 | type = cat CASH_OUT/TRANSFER/PAYMENT | amount = money | oldbalanceOrg = money |
    isFlaggedFraud = flag | isFraud = y 0/1 rate=.06 | model_score = p d=6
ulb_creditcard :: Time = int 0 172792 | V1 = gauss | V2 = gauss | V3 = gauss | Amount = money |
    Class = y 0/1 rate=.08 |
    xgb_proba = p d=8
betrug layout=latin :: Schadennr = id S | Betrag = thousands | Betrug = y nein/ja rate=.1 |
    Betrugswahrscheinlichkeit = p d=3
bankruptcy :: cik = rownum 320193 | fyear = year | Altman_Z = gauss | bankrupt = y 0/1 rate=.07 | PD_1Y = p d=6
sme_rating :: obligor_id = id OB | rating = cat AA/A/BBB/BB/B | PD_TTC = p d=5 | DEFAULT_12M = y 0/1 rate=.1 |
    country = group DE/FR/IT | turnover = thousands
late_invoices :: InvoiceID = rownum 30001 | DaysToPay = int 1 120 | Late = y No/Yes rate=.35 |
    LateProbability = p s=pct unit=%
card_delinquency blank=delinq_90:0.07 na=. :: acct = id | util = unit | delinq_90 = y 0/1 rate=.15 |
    prob_delinq_90 = p
staff_turnover :: emp_no = rownum 10001 | last_evaluation = unit | satisfaction_level = unit | left = y 0/1 rate=.24 |
    prob_left = p d=3
collections layout=quoted :: debtor = id | promised = thousands | repaid = y 0/1 rate=.4 | repay_probability = p d=3
agency_weight :: panel_id = id P | default_event = y 0/1 rate=.15 | predicted_pd = p d=5 | survey_weight = weight
branch_de layout=comma :: Filiale = cluster FIL 11 | Kreditnr = id K | PD = p d=4 | ausgefallen = y 0/1 rate=.12

# Marketing and churn.
kkbox layout=windows :: msno = uuid | payment_plan_days = int 7 410 | is_churn = y 0/1 rate=.12 |
    is_churn_proba = p d=6
churn_modelling :: RowNumber = rownum | CustomerId = rownum 15565701 | CreditScore = int 350 850 |
    Geography = cat FR/ES/DE |
    Balance = money | IsActiveMember = flag | Exited = y 0/1 rate=.2 | prob_exited = p
jmp_churn :: Phone Calls = int 0 9 | Churned = y No/Yes rate=.2 | Prob[No] = p of=No d=5 | Prob[Yes] = p of=Yes d=5 |
    Most Likely Churned = pred
alteryx :: CustKey = rownum | Responded = y No/Yes rate=.3 | Score_No = p of=No d=6 | Score_Yes = p of=Yes d=6
driverless :: ID = rownum 0 | Cancelled = y no/yes rate=.25 | Cancelled.no = p of=no d=6 |
    Cancelled.yes = p of=yes d=6
sap :: KxIndex = rownum | class = y 0/1 rate=.25 | proba_rr_class = p d=6
criteo layout=tab :: uid = uuid | I1 = int 0 50 | C14 = cat 07d13a8f/b28479f6 | clicked = y 0/1 rate=.25 |
    pCTR = p d=6
storno layout=tab_comma :: Auftrag = id AU | Artikel = int 1000 9999 | storniert = y nein/ja rate=.2 |
    Stornowahrscheinlichkeit = p d=4
resiliation layout=excel :: réf_client = rownum | ancienneté = int 0 30 | résilié = y non/oui rate=.2 |
    probabilité de résiliation = p d=3
abandono layout=bom :: nro_cliente = rownum 100 | segmento = cat oro/plata | abandono = y 0/1 rate=.2 |
    probabilidad_abandono = p d=5
newsletter blank=opened:0.1,p_open:0.06 na=NULL :: email_id = id m | opened = y 0/1 rate=.4 | p_open = p
basket layout=pandas :: order_id = rownum 2539329 | product_id = int 1 49688 | reordered = y 0/1 rate=.5 |
    pred_reorder = p d=6
lead_scoring :: Prospect ID = uuid | Lead Source = cat Google/Direct | Converted = y 0/1 rate=.38 |
    Lead Conversion Probability = p d=3
vertex :: visitor = rownum | purchase = y False/True rate=.2 | purchase_False_score = p of=False d=6 |
    purchase_True_score = p of=True d=6

# Medicine and biology.
support2 :: sno = rownum | hospdead = y 0/1 rate=.26 | aps = int 0 140 | scoma = int 0 100 | prg_hospdead = p d=4
sofa_icu :: stay_id = rownum 30000153 | icu = cluster ICU 8 | sofa = int 0 20 | icu_mortality = y 0/1 rate=.15 |
    prob_death = p
grace layout=semicolon :: Pat_ID = id GR | HeartRate = int 40 150 | GRACE_prob_pct = p s=pct d=1 |
    MACE = y 0/1 rate=.15
framingham :: male = flag | cigsPerDay = int 0 60 | sysBP = int 90 200 | TenYearCHD = y 0/1 rate=.15 |
    chd_prob = p d=5
biopsy :: lesion_id = id ISIC_ | anatom_site = cat torso/head/leg | benign_malignant = y benign/malignant rate=.2 |
    p_malignant = p d=4
mammography :: exam = rownum | centre = cluster CT 9 | BIRADS = int 1 5 | cancer = y 0/1 rate=.1 |
    AI_cancer_prob = p d=4
chexpert :: Path = id patient | Sex = cat M/F | Pneumothorax = y 0.0/1.0 rate=.2 | prob_Pneumothorax = p d=6
covid layout=latin :: Patientennr = rownum | Aufnahme = date form=%d.%m.%Y | Intensivpflicht = y nein/ja rate=.2 |
    Intensivwahrscheinlichkeit = p d=3
dialyse layout=utf16_comma :: Zentrum = cluster Z 9 | Proband = id | Shunt-Thrombose = y 0/1 rate=.2 |
    Thromboserisiko = p d=4
infarctus layout=bom_comma :: hôpital = cluster HP 8 | âge = age | infarctus = y 0/1 rate=.2 |
    risque_prédit = p s=pct unit=~%
reingreso layout=excel :: historia = rownum | centro = cluster C 9 | reingreso = y No/Sí rate=.2 |
    prob. de reingreso = p d=3
ecg_af layout=parquet :: record = id A | HR = int 40 160 | AF = y 0/1 rate=.25 | prob_AF = p d=8
epic_sepsis :: csn = rownum 7700001 | dept = cat ED/WARD | sepsis_within_6h = y 0/1 rate=.1 |
    predicted_sepsis_risk = p s=pct d=0 unit=%
predictABEL :: cid = rownum | AMD = y 0/1 rate=.3 | predRisk = p d=6
birth :: mother = id M | parity = int 0 5 | preterm = y no/yes rate=.12 | predicted.prob = p d=5
toxicity layout=percent_comments :: compound = id CHEM | logP = gauss | toxic = y 0/1 rate=.3 | tox_prob = p d=5
followup_na blank=readmit30:0.12 na=NA :: mrn = rownum 400100 | readmit30 = y 0/1 rate=.25 | readmit30_prob = p
eye_pairs :: participant_id = cluster P 60 | eye = cat L/R | glaucoma = y 0/1 rate=.3 | p_glaucoma = p
trial_weights :: centre_no = cluster SITE 9 | responder = y 0/1 rate=.4 | pred_responder = p | ipw = weight

# Programs, sports, weather, machines.
catboost layout=tab :: SampleId = rownum 0 | Probability = p d=9 | Label = y 0/1
spark_flat :: label = y 0.0/1.0 | probability_0 = p of=0.0 d=8 | probability_1 = p of=1.0 d=8 | prediction = pred
matlab :: YTrue = y 0/1 | YPred = pred | score_{} = each d=5
ranger layout=rnames :: observed = y absent/present | predictions.absent = p of=absent |
    predictions.present = p of=present
glm_response layout=rnames :: am = y 0/1 | hp = int 52 335 | wt = maybe_weight 15 54 | .fitted = p d=7
augment :: outcome = y no/yes | .fitted_prob = p d=6 | .resid = gauss | .hat = unit
eviews :: OBS = rownum | DEFAULTED = y 0/1 rate=.2 | DEFAULTEDF = pred | PROBF = p d=6
bigquery :: is_bot = y 0/1 rate=.3 | predicted_is_bot = pred | prob_0 = p of=0 d=8 | prob_1 = p of=1 d=8
autogluon layout=pandas :: class = y <=50K/>50K rate=.25 | pred = pred | proba_{} = each d=6
sagemaker layout=headless or_refuse=yes :: y = y 0/1 | p = p d=8
gluon_logits :: net_logit = p s=logit d=6 | is_positive = y 0/1
jax_pair layout=parquet :: logits_{i} = each s=logit d=7 | labels = y 0/1
log_probs :: lp_neg = p of=neg s=logp d=6 | lp_pos = p of=pos s=logp d=6 | gold = y neg/pos
five_thirty_eight :: date = date | team1 = cat BOS/LAL/NYK | team2 = cat MIA/CHI/DEN | elo_prob1 = p d=6 |
    result1 = y 0/1 rate=.55
good_judgment :: question = id Q | forecaster = cluster U 25 | forecast = p d=2 | resolved_yes = y 0/1 rate=.4
metaculus :: id = rownum 3000 | community_prediction = p d=2 | resolution = y No/Yes rate=.4
noaa layout=txt :: STN = maybe_cluster KSE 12 | CYCLE = int 0 18 | POP12 = p s=pct d=0 steps=20 |
    RAIN_OBS = y 0/1 rate=.3
regen layout=excel :: Messstelle = maybe_cluster MS 9 | Regenwahrscheinlichkeit = p s=pct d=0 unit=~% |
    Regen beobachtet = y nein/ja rate=.3
pluie layout=semicolon :: poste = maybe_cluster PO 9 | proba_pluie = p d=2 | pluie = y 0/1 rate=.35
secom :: Timestamp = date form=%d/%m/%Y~%H:%M:%S | s001 = gauss | s002 = gauss | PassFail = y -1/1 rate=.1 |
    prob_fail = p d=6
predictive_maintenance :: UDI = rownum | Air temperature [K] = positive | Torque [Nm] = positive |
    Machine failure = y 0/1 rate=.08 | Failure probability = p d=4
flight_delay :: FL_DATE = date | OP_CARRIER = cat AA/DL/UA | DEP_DEL15 = y 0.00/1.00 rate=.2 | p_delay = p d=5
student_dropout :: student_no = rownum | school = cluster SCH 12 | absences = int 0 40 |
    dropped_out = y FALSE/TRUE rate=.2 |
    dropout_risk = p
toxic_comment :: comment_id = id c | comment_text = text | toxic = y 0/1 rate=.15 | toxic_prob = p d=6
quora :: qid1 = rownum | question1 = text | question2 = text | is_duplicate = y 0/1 rate=.37 | p_duplicate = p d=6
phishing :: url = text | phishing = y legitimate/phishing rate=.3 | P[phishing] = p d=4
malware layout=pipe :: sha256 = uuid | malicious = y 0/1 rate=.4 | malicious_likelihood = p d=5
churn_bayes :: posterior_mean = p d=5 | posterior_sd = unit | went_away = y 0/1 rate=.3
with_limits :: case_no = rownum | prob_est = p d=4 | ci_low = near -.07 | ci_high = near .07 | had_event = y 0/1
one_two_q :: Diagnosis = y 1/2 rate=.3 | prob_1 = p of=1 d=5 | prob_2 = p of=2 d=5
yn_upper :: REC = rownum | RESPONSE_FLAG = y N/Y rate=.25 | RESPONSE_PROB = p d=5
t_f :: row = rownum | truth_tf = y F/T | prob_T = p d=5
inverted_second quality=inverted n=360 :: ref = id | bad_debt = y 0/1 rate=.3 | bad_debt_prob = p
useless_second quality=weak :: ref = id | complication = y 0/1 rate=.25 | complication_risk = p | asa = int 1 5
inverted_two_second quality=inverted n=380 :: wins = y 0/1 rate=.45 | P(wins=0) = p of=0 | P(wins=1) = p of=1
early_label :: malignancy = y 0/1 rate=.35 | nodule_diameter = positive | spiculation = flag |
    predicted_malignancy_prob = p
rearrest :: case_id = rownum | sex = group F/M | charge_degree = cat F/M | rearrest = y 0/1 rate=.4 |
    rearrest_prob = p d=3
permille_second layout=latin :: Vertrag = id VT | Ausfallwahrscheinlichkeit [Promille] = p s=permille |
    Ausgefallen = y 0/1 rate=.1
partition layout=semicolon :: partition = split train/test | buys = y 0/1 | prob_buys = p

# More than two classes.
penguins :: species = y Adelie/Chinstrap/Gentoo | .pred_class = pred | .pred_{} = each d=6
catboost_multi layout=tab :: SampleId = rownum 0 | Label = y setosa/versicolor/virginica |
    Probability:Class={} = each d=8
cover_type :: Elevation = int 1859 3858 | Cover_Type = y 1..7 | prob_Cover_{} = each d=5
glass_gaps :: RI = gauss | Type = y 1/2/3/5/6/7 | prob_{} = each d=5
wine_quality layout=semicolon :: quality = y 3..8 | p_quality_{} = each d=5
dry_bean :: Area = int 20420 254616 | Class = y BARBUNYA/BOMBAY/CALI/DERMASON/HOROZ/SEKER/SIRA | {} = each d=5
students :: Target = y Dropout/Enrolled/Graduate | Debtor = flag | proba_{} = each d=4
football :: Date = date form=%d/%m/%y | FTR = y A/D/H | p_H = p of=H | p_D = p of=D | p_A = p of=A
match_words :: home = cat Ajax/PSV | away = cat Feyenoord/Twente | result = y away/draw/home |
    prob_{} = each d=3 order=reversed
nli :: premise = text | hypothesis = text | gold_label = y contradiction/entailment/neutral | {} = each d=5
emotions :: tweet_id = rownum | emotion = y anger/fear/joy/sadness | softmax_{} = each d=6 order=shuffled
cola_logits :: sent = text | gold_idx = y 0..2 | logit_class_{} = each s=logit d=5
digits_unordered :: pred_{} = each d=5 order=text | digit_true = y 0..10
ten_plus_logits :: z{} = each s=logit d=4 order=text | cls = y 0..14
none_class :: finding = y edema/none/effusion | prob_{} = each d=4
na_like_class :: state = y null/idle/busy | P({}) = each d=4
float_labels :: score_{i} = each d=5 | target = y 0.0/1.0/2.0
counts_reader :: grade = y benign/border/malignant | readers_{} = each s=votes
rf_votes layout=rnames :: Species = y ash/elm/oak/yew | {} = each s=trees
percent_multi layout=comma :: Partei = y CDU/FDP/GRÜNE/SPD | {} (%) = each s=pct d=1
percent_whole_multi :: actual_party = y dem/ind/rep | dem = p of=dem s=hundred | ind = p of=ind s=hundred |
    rep = p of=rep s=hundred
per_thousand :: y_true = y a/b/c/d | p_{} = each s=permille d=0
quantised :: lbl = y 0..5 | q_{} = each s=byte
lnp :: kind = y elm/oak/fir | ln_p_{} = each s=logp d=5
base_two :: wanted = y x/y/z | log2p_{} = each s=log2 d=5
base_ten layout=semicolon :: wanted = y k/l/m | log10_prob_{} = each s=log10 d=5
klassen_de layout=tab_comma :: tatsächliche Klasse = y Auto/Bus/Rad | Wkt. {} = each d=4
classes_fr layout=excel :: vraie classe = y chat/chien/oiseau | classe prédite = pred | proba {} = each d=3
clases_es :: etiqueta real = y alto/bajo/medio | prob {} = each d=4
spacy :: text = text | gold_cat = y BUSINESS/SPORT/TECH | cats.{} = each d=5
icd :: encounter = id E | dx = y E11/I10/J18/N39 | p({}) = each d=4
parquet_second layout=parquet :: y_idx = y 0..4 | proba_{} = each d=9
mulaw blank=true_state:0.08 :: window = rownum | true_state = y walk/sit/run | p.{} = each d=4
one_based_second :: true_cluster = y 1..5 | resp_{} = each d=5
shifted_second :: rating_true = y 1..4 | net_out_{i} = each d=5
prefix_long :: ground_truth_class = y forest/urban/water | model_output_probability_of_{} = each d=6
beside_features_second :: sepal = positive | petal = positive | kind = y a/b/c | out_a = p of=a | out_b = p of=b |
    out_c = p of=c
inverted_multi_second quality=inverted n=300 :: label_true = y 0..4 | P{} = each d=5

# Pairs of confidence and correctness.
modeler :: Drug = y drugA/drugB/drugC | $C-Drug = pred | $CC-Drug = conf d=3
oracle :: CUST_ID = rownum 101501 | AFFINITY_CARD = y 0/1 | PREDICTION = pred | PREDICTION_PROBABILITY = conf d=7
gpt_graded :: prompt_id = id p | completion = text | stated_confidence = conf s=pct d=0 steps=20 |
    graded_correct = correct 0/1
grade_words :: q = rownum | grade = correct INCORRECT/CORRECT | confidence = conf d=2
ptrue :: question_no = rownum | p_true = conf d=4 | answer_correct = correct False/True
self_consistency :: item_id = id i | vote_share = conf d=2 steps=20 | exact_match = correct 0/1
arc :: question = text | answerKey = y A/B/C/D | model_choice = pred | choice_prob = conf d=5
mmlu_pro :: category = cat law/math | gold = y A/B/C/D/E/F | pred = pred | pred_conf = conf d=4
tesseract layout=tab :: page_num = int 1 9 | line_num = int 1 40 | conf = conf s=pct d=0 | text = predtext |
    gt_text = ytext
birdnet :: recording = cluster R 30 | species = cat Robin/Wren/Tit | Confidence = conf d=4 |
    verified_correct = correct 0/1
plates :: camera = cat N/S | plate_read = predtext | plate_true = ytext | read_confidence = conf d=3
detections_matched :: img = cluster im 35 | category_id = int 1 80 | bbox_area = int 100 90000 | score = conf d=4 |
    is_true_positive = correct 0/1
intent_bot :: utterance = text | true_intent = y book/cancel/greet | intent = pred | intent_confidence = conf d=4
langid :: snippet = text | lang = y de/en/fr/it | detected_lang = pred | detection_prob = conf d=4
sicherheit_de layout=comma :: Aufgabe = rownum | Sicherheit = conf s=pct d=0 | korrekt = correct nein/ja
vorhersage_de layout=tab_comma :: wahr = y Apfel/Birne/Kirsche | vorhergesagt = pred | Konfidenz = conf d=3
confiance_fr layout=excel :: vérité = y oui/non | prédiction = pred | confiance = conf d=3
reponse_juste layout=semicolon :: réponse = text | certitude = conf d=2 | réponse juste = correct 0/1
acierto_es layout=bom :: ítem = rownum | seguridad = conf s=pct d=0 steps=20 | acierto = correct 0/1
real_predicho :: real = y gato/perro/pez | predicho = pred | confianza = conf d=4
trivia_players :: player = cluster PL 25 | round = int 1 20 | sureness = conf s=pct d=0 steps=10 unit=% |
    was_right = correct No/Yes
annotators :: worker_id = cluster W 20 | task = id T | self_confidence = conf d=2 steps=20 |
    agrees_with_gold = correct 0/1
long_models n=320 :: prompt = id P | llm = model alpha/beta/gamma | conf = conf d=2 | is_correct = correct 0/1
reruns :: problem_id = cluster PR 50 | attempt = int 1 6 | confidence = conf d=3 | passed_tests = correct False/True
retriever :: claim = text | verdict_correct = correct 0/1 | support_prob = conf d=4
softmax_max :: gt_label = y 0..7 | top1 = pred | top1_prob = conf d=6
speaker_id :: file = id wav | speaker_true = y s1/s2/s3/s4 | speaker_pred = pred | posterior = conf d=5
pairs_gone blank=certainty:0.1 na=n/a :: item = rownum | certainty = conf d=2 | correct = correct 0/1
pairs_inverted_second quality=inverted n=350 :: no = rownum | confidence_score = conf d=3 | is_right = correct 0/1
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
champion_challenger :: account = id | champion_score = p m=champion | challenger_score = p m=challenger |
    bad = y 0/1 rate=.2
readers_ai :: scan = rownum | ai_v1 = p m=v1 | ai_v2 = p m=v2 | radiologist = p m=reader | malignant = y 0/1
two_nets :: true = y u/v/w | resnet_{} = each m=resnet d=5 | bert_{} = each m=bert d=5
two_llms_second :: item = id | conf_a = conf m=a | right_a = correct 0/1 | conf_b = conf m=b | right_b = y2 0/1
two_endpoints also=mace:p_event :: pid = id | p_event = p | stroke = y 0/1 rate=.2 | mace = y2 0/1
columns_abc also=z:x :: x = unit | y_ = p | z = y 0/1
columns_f also=f3:f1 :: f1 = unit | f2 = p | f3 = y 0/1
margin_second or_refuse=yes :: truth = y -1/1 | svm_score = p s=logit d=5
llr or_refuse=yes :: trial = rownum | llr = p s=logit d=4 | key = y nontarget/target
raw_formula :: RawFormulaVal = p s=logit d=8 | Label = y 0/1
zero_to_ten or_refuse=yes :: applicant = id | hired = y 0/1 rate=.4 | interview_score = p s=ten d=1
horse_odds or_refuse=yes :: horse = rownum | win_odds = p s=odds | won = y 0/1 rate=.3
linear_predictor or_refuse=yes :: study_id = id ST | lp = p s=logit d=5 | relapse = y 0/1 rate=.3
basis_points or_refuse=yes :: bond = id ISIN | default_prob_bp = p s=bps | defaulted = y 0/1 rate=.1
words_second or_refuse=yes :: q_no = rownum | how_sure = verbal | right = correct False/True
raters also=reader_b:model_prob :: case = rownum | reader_a = y 0/1 | reader_b = y2 0/1 | model_prob = p
sides or_refuse=yes :: coin = rownum | side = y heads/tails rate=.5 | prob = p
before_after :: event = y 0/1 | uncalibrated = p m=before d=5 | platt = p m=after d=5
no_names layout=headless_txt or_refuse=yes :: y = y 0/1 | p = p
no_names_multi layout=headless or_refuse=yes :: y = y 0..4 | p{} = each d=5
survived_five_years or_refuse=yes :: id = rownum | surv5y_prob = p of=0 | dead5y = y 0/1 rate=.3
percent_silent :: mrn = rownum | predicted_risk = p s=pct | readmitted = y 0/1 rate=.3
whole_silent :: lead = id | win_probability = p s=pct d=0 | won = y 0/1 rate=.3
signed_bytes :: class = y 0..2 | int8_{} = each s=int8
seq_logprob or_refuse=yes :: prompt = text | mean_logprob = conf s=logp d=5 | exact = correct 0/1
"""

# Nothing to read.
REFUSED = """\
member_income_target :: member_no = rownum 501 | income = thousands | target = y 0/1
wide_features :: mrn = rownum 9001 | heart_rate = int 40 140 | creatinine = positive | lactate = positive |
    died = y 0/1
labels_only_two :: actual_class = y neg/pos | predicted_class = pred
labels_only_many :: truth = y 0..6 | guess = pred
labels_only_words :: Ist = y Hund/Katze/Maus | Vorhersage = pred
wine_features :: alcohol = positive | malic_acid = positive | ash = positive | proline = int 278 1680 |
    cultivar = y 1..3
abalone :: Sex = cat M/F/I | Length = unit | Diameter = unit | Rings = int 1 29
no_truth or_refuse=yes :: loan = id | pd = p
no_truth_multi :: img = id | prob_cat = unit | prob_dog = unit | prob_fox = unit
half_labels :: grade = y 1.5/2.5/3.5 | p{i} = each d=5
sales :: month = date | region = cat north/south | revenue = thousands
house_prices :: lot = rownum | price = thousands | price_hat = thousands
bureau_score or_refuse=yes :: ssn_hash = uuid | bureau = int 300 850 | bad_flag = y 0/1
tweets :: tweet = text | stance = y against/favor
log_file :: timestamp = date form=%Y-%m-%d~%H:%M:%S | level = cat INFO/WARN/ERROR | message = text
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
