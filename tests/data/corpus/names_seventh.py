"""The seventh set of recipes, written by a session that had not seen the reader; first run before any was mended."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# What programs, libraries and cloud services write.
caret_saved layout=rnames :: pred = pred | obs = y Bad/Good rate=.7 | Bad = p of=Bad d=7 | Good = p of=Good d=7 |
    rowIndex = rownum 1 | mtry = const 4 | Resample = cat Fold1/Fold2/Fold3/Fold4/Fold5
tidymodels_collect :: id = const train/test~split | .pred_class = pred | .row = rownum 3 |
    .pred_Attrited = p of=Attrited d=8 | .pred_Stayed = p of=Stayed d=8 | Status = y Stayed/Attrited rate=.2 |
    .config = const Preprocessor1_Model1
mlr3_table :: row_ids = rownum 1 | truth = y M/R rate=.47 | response = pred | prob.M = p of=M d=7 |
    prob.R = p of=R d=7
h2o_download layout=quoted :: predict = pred | p0 = p of=0 d=10 | p1 = p of=1 d=10 | CAPSULE = y 0/1 rate=.4
proc_logistic_ip :: Temp = normal 70 7 | _FROM_ = y no/yes rate=.3 | _INTO_ = pred | IP_no = p of=no d=6 |
    IP_yes = p of=yes d=6
enterprise_miner layout=windows :: BAD = y 0/1 rate=.2 | LOAN = money | DEBTINC = normal 34 8 | P_BAD1 = p of=1 d=8 |
    P_BAD0 = p of=0 d=8 | I_BAD = pred
spss_tree layout=xlsx :: Kategorie = y 1/2/3 | NodeID = int 1 9 | PredictedValue = pred |
    PredictedProbability_{j} = each d=3
stata_logit :: make = id AMC | foreign = y 0/1 rate=.3 | mpg = normal 21 5 | phat_foreign = p d=7
stata_mlogit layout=tab :: insure = y Indemnity/Prepaid/Uninsure | pr_Indemnity = p of=Indemnity d=7 |
    pr_Prepaid = p of=Prepaid d=7 | pr_Uninsure = p of=Uninsure d=7 | male = flag
sklearn_frame layout=pandas :: y_test = y 0/1 rate=.37 | y_pred = pred | y_pred_proba = p d=6
bigquery_ml layout=jsonl :: predicted_income_bracket = pred |
    predicted_income_bracket_probs = vec form=label_prob d=6 | income_bracket = y <=50K/>50K rate=.25 |
    hours_per_week = int 10 70
pipeline_scores layout=jsonl :: text = text mails | gold_label = y anger/joy/sadness |
    all_scores = vec form=label_score d=6
snowflake_predict :: SEGMENT = y bronze/gold/silver | PREDICTED_PROBABILITIES = vec form=dict d=5
canvas_batch :: state = cat OH/TX/NJ | churned = y False/True rate=.15 | predicted_label = pred |
    probability = conf d=5
azure_designer :: symboling = int 0 3 | income = y low/high rate=.3 | Scored Labels = pred |
    Scored Probabilities = p d=9
datarobot_multi :: readmitted_<30_PREDICTION = p of=<30 d=8 | readmitted_>30_PREDICTION = p of=>30 d=8 |
    readmitted_NO_PREDICTION = p of=NO d=8 | readmitted_PREDICTION = pred | readmitted = y <30/>30/NO
knime_scorer layout=knime :: Churn? = y 0/1 rate=.2 | P (Churn?=0) = p of=0 d=4 | P (Churn?=1) = p of=1 d=4 |
    Prediction (Churn?) = pred
rapidminer layout=quoted_semicolon :: Survived = y No/Yes rate=.4 | prediction(Survived) = pred |
    confidence(Yes) = p of=Yes d=3 | confidence(No) = p of=No d=3 | Passenger Fare = positive
orange_predictions layout=tab :: iris = y Iris-setosa/Iris-versicolor/Iris-virginica | Logistic Regression = pred |
    Logistic Regression (Iris-setosa) = p of=Iris-setosa d=6 |
    Logistic Regression (Iris-versicolor) = p of=Iris-versicolor d=6 |
    Logistic Regression (Iris-virginica) = p of=Iris-virginica d=6 | petal length = positive
autogluon_proba :: class = y bus/opel/saab/van | bus = p of=bus d=6 | opel = p of=opel d=6 | saab = p of=saab d=6 |
    van = p of=van d=6
alteryx_score layout=bom :: Cust_ID = id | Responded = y No/Yes rate=.2 | Score_No = p of=No d=5 |
    Score_Yes = p of=Yes d=5
jmp_save layout=txt :: Prob[2nd] = p of=2nd d=8 | Prob[3rd] = p of=3rd d=8 | Prob[1st] = p of=1st d=8 |
    Most Likely Passenger Class = pred | Passenger Class = y 1st/2nd/3rd
spark_vector layout=jsonl :: label = y 0/1 rate=.4 | probability_vector = vec form=json d=6 | prediction = pred
matlab_fit layout=semicolon :: Yfit = pred | Ytrue = y b/g rate=.6 | postprob_b = p of=b d=5 |
    postprob_g = p of=g d=5
julia_glm :: Default = y No/Yes rate=.15 | Balance = money | p̂_Yes = p d=6
pytorch_softmax layout=jsonl :: sample_idx = rownum 0 | target = y 0..9 | softmax_output = vec form=json d=5
statsmodels_mn layout=pandas :: PID = y 0..6 | prob_PID_{} = each d=6
glmnet_out layout=write_table :: lambda = const 0.01743 | fraud.obs = y 0/1 rate=.1 | fraud.prob = p d=8
tensorflow_softmax :: image_path = id img/ | true_label = y cat/dog/horse/sheep | softmax_{} = each d=6
naive_bayes_log :: doc_no = rownum 1 | newsgroup = y autos/medicine/space | log_prob_autos = p of=autos s=logp d=4 |
    log_prob_medicine = p of=medicine s=logp d=4 | log_prob_space = p of=space s=logp d=4
forest_votes layout=rnames :: Type = y 1/2/3 | votes.1 = p of=1 s=trees | votes.2 = p of=2 s=trees |
    votes.3 = p of=3 s=trees
lightgbm_raw :: row_nr = rownum 0 | is_attributed = y 0/1 rate=.25 | log_odds = p s=logit d=6
excel_titled layout=xlsx_titled :: Case no. = rownum 1 | Claim fraudulent = y No/Yes rate=.2 |
    Probability of fraud = p s=pct d=1 unit=%
gams_mgcv layout=csv2 :: present = y FALSE/TRUE rate=.4 | elev = normal 900 200 | fit.response = p d=7 |
    se.fit = unit d=6

# Hospitals, laboratories, public health.
mimic_mortality :: subject_id = cluster 70 | hadm_id = rownum 20001 | hospital_expire_flag = y 0/1 rate=.15 |
    mortality_prob = p d=5
eicu_apache :: patientunitstayid = rownum 141168 | apacheversion = const IVa | predictedhospitalmortality = p d=6 |
    actualhospitalmortality = y ALIVE/EXPIRED rate=.15
sepsis_challenge layout=pipe :: ICULOS = int 1 60 | SepsisLabel = y 0/1 rate=.1 | PredictedProbability = p d=3 |
    PredictedLabel = pred
cinc_records :: RecordID = rownum 132539 | In-hospital_death = y 0/1 rate=.15 | Death_risk = p d=4
skin_lesions :: image_id = id ISIC_ | dx = y akiec/bcc/mel/nv | akiec = p of=akiec d=5 | bcc = p of=bcc d=5 |
    mel = p of=mel d=5 | nv = p of=nv d=5
retina_grades :: id_code = uuid | diagnosis = y 0..4 | grade_{}_prob = each d=4
euroscore layout=comma :: Fallnr = rownum 1 | Klinik = cluster K 9 | verstorben_30T = y 0/1 rate=.12 |
    EuroSCORE_II_Risiko = p s=pct d=2 unit=~%
qrisk layout=xlsx :: nhs_pseudonym = id P | Smoker = flag | qrisk3_10yr_risk_% = p s=pct d=1 |
    cvd_event_10yr = y 0/1
breast_biopsy layout=windows :: Patient ID = cluster PT 60 | BI-RADS density = cat A/B/C/D |
    Biopsy result = y benign/malignant | AI malignancy probability = p d=3
reader_study :: accession = rownum 5001 | pneumonia_gt = y 0/1 rate=.3 | pneumonia_prob = p d=4 | view = cat AP/PA
covid_test layout=semicolon :: Probe = id PR | PCR-Ergebnis = y negativ/positiv rate=.3 | p_positiv = p d=3
deces_hospitalier layout=latin :: numéro séjour = rownum 1 | décès = y non/oui rate=.2 |
    probabilité de décès = p d=4 | âge = age
reingreso layout=bom_comma :: paciente = id PX | edad = age | reingreso_30d = y No/Sí rate=.2 |
    probabilidad_reingreso = p d=3
ricovero layout=latin :: cartella = rownum 1 | esito = y guarito/deceduto rate=.2 | prob_deceduto = p d=4
tumour_type layout=xlsx :: Gewebe-Nr = rownum 1 | Entität = y Adenom/Karzinom/Normal | P(Adenom) = p of=Adenom d=3 |
    P(Karzinom) = p of=Karzinom d=3 | P(Normal) = p of=Normal d=3 | Diagnose_KI = pred
diabetes_onset :: Pregnancies = int 0 12 | Glucose = normal 120 30 d=0 | Outcome = y 0/1 |
    Diabetes_Probability = p d=4
heart_survivor :: anaemia = flag | ejection_fraction = int 15 70 | DEATH_EVENT = y 0/1 rate=.3 |
    predicted_death_prob = p d=4
stroke_blank blank=bmi_measured:0.2,had_stroke:0.1 na=N/A :: bmi_measured = normal 28 5 |
    had_stroke = y No/Yes rate=.2 | stroke_prob = p d=4
nhanes_weighted :: SEQN = rownum 93703 | WTMEC2YR = weight | diabetes_dx = y 0/1 rate=.2 | pred_diabetes = p d=4
icu_delirium :: hospital_id = cluster H 12 | ward = cat medical/surgical | delirium_observed = y no/yes rate=.25 |
    delirium_predicted_risk = p d=3
ecg_rhythm :: rec = id A | rhythm = y AF/Noise/Normal/Other | rhythm_predicted = pred | max_probability = conf d=4
cell_types layout=tab :: barcode = uuid | celltype = y B/Mono/NK/T | celltype_pred = pred |
    prediction.score.max = conf d=4
variant_calls layout=tab :: CHROM = cat 1/2/X | POS = int 10000 900000 | ClinVar = y Benign/Pathogenic |
    pathogenic_score = p d=3
no_show :: AppointmentID = rownum 5642903 | SMS_received = flag | No-show = y No/Yes rate=.2 | P(no-show) = p d=3
transplant layout=tab_comma :: TX_ID = id TX | Abstoßung = y nein/ja rate=.2 | Abstoßungswahrscheinlichkeit = p d=3
survival_month :: case = rownum 1 | status_12m = y dead/alive rate=.6 | p_alive_12m = p d=3

# Banks, insurers, shops, industry.
credit_card layout=xlsx :: LIMIT_BAL = money | default.payment.next.month = y 0/1 rate=.22 | default_proba = p d=5
home_credit :: SK_ID_CURR = rownum 100001 | TARGET = y 0/1 rate=.1 | PRED_PROBA = p d=6
lending_club :: loan_id = id L | loan_status = y Fully~Paid/Charged~Off rate=.2 | prob_charged_off = p d=4 |
    int_rate = normal 12 4
delinquency layout=unnamed :: SeriousDlqin2yrs = y 0/1 rate=.1 | RevolvingUtilization = unit | pred_prob_dlq = p d=6
card_fraud :: TransactionID = rownum 2987000 | TransactionAmt = money | isFraud = y 0/1 rate=.1 |
    fraud_score = p d=4
telco layout=bom :: customerID = id | tenure = int 1 72 | Churn = y No/Yes rate=.27 | churn_probability = p d=4
bank_campaign layout=quoted_semicolon :: duration = int 10 900 | y = y no/yes rate=.2 | prob_yes = p d=4
heloc :: ExternalRiskEstimate = int 50 90 | RiskPerformance = y Good/Bad rate=.5 | prob_bad = p of=Bad d=4
ad_clicks layout=tab :: impression = rownum 1 | clicked = y 0/1 rate=.1 | pCTR = p d=6 | bid_price = positive
subscription :: msno = uuid | is_churn = y 0/1 rate=.1 | prob_is_churn = p d=7
hotel :: lead_time = int 0 300 | is_canceled = y 0/1 rate=.4 | cancel_prob_pct = p s=pct d=1
attrition layout=excel :: EmployeeNumber = rownum 1 | Attrition = y No/Yes rate=.2 | Prob Attrition Yes = p d=3 |
    MonthlyIncome = money
shoppers :: BounceRates = unit | Revenue = y FALSE/TRUE rate=.2 | proba_true = p d=5
kuendigung layout=latin :: Kundennummer = id KD | Vertragsart = cat Basis/Plus | gekündigt = y nein/ja rate=.2 |
    Kündigungswahrscheinlichkeit = p s=pct d=1 unit=~%
impago layout=comma :: cliente = id CL | importe = thousands | impago = y 0/1 rate=.15 | prob_impago = p d=4
inadimplencia layout=bom_comma :: contrato = rownum 1 | inadimplente = y não/sim rate=.2 |
    probabilidade de inadimplência = p d=3
resiliation layout=latin_quoted :: réf_client = id RC | résilié = y 0/1 rate=.2 | proba_résiliation = p d=4
opzegging layout=comma :: klantnr = id K | opgezegd = y nee/ja rate=.2 | kans_op_opzegging = p d=3
reclamo layout=semicolon :: polizza = id PZ | sinistro = y no/si rate=.2 | probabilità sinistro = p d=4
machine_failure :: UDI = rownum 1 | Torque [Nm] = normal 40 9 | Machine failure = y 0/1 rate=.1 |
    Failure probability = p d=4
secom :: wafer = id W | test_outcome = y -1/1 rate=.1 | prob_of_1 = p d=4
scania layout=comments :: aps_class = y neg/pos rate=.1 | prob_pos = p d=6
steel_plates :: Sheet = rownum 1 | fault = y Bumps/Scratch/Stains | Bumps_pct = p of=Bumps s=pct d=1 |
    Scratch_pct = p of=Scratch s=pct d=1 | Stains_pct = p of=Stains s=pct d=1
repeat_buyer :: shopper = cluster U 45 sorted=1 | visit_no = int 1 9 | bought = y 0/1 rate=.3 |
    purchase_probability = p d=4
freq_claims :: exposure_class = cat A/B/C | freq_weight = count_weight | claim = y 0/1 rate=.2 | p_claim = p d=4
flights :: FlightDate = date | Reporting_Airline = cat AA/DL/UA/WN | ArrDel15 = y 0/1 rate=.2 |
    prob_ArrDel15 = p d=3
lead_scoring layout=windows :: Lead Number = rownum 579533 | Converted = y 0/1 rate=.4 |
    Conversion Probability (%) = p s=hundred

# Language models, text, speech, recognition.
mmlu_choices layout=jsonl :: question_id = rownum 0 | topic_area = cat anatomy/law/physics | answer = y A/B/C/D |
    logprob_A = p of=A s=logp d=5 | logprob_B = p of=B s=logp d=5 | logprob_C = p of=C s=logp d=5 |
    logprob_D = p of=D s=logp d=5
arc_choices :: arc_id = id Mercury_ | answerKey = y A/B/C/D | prob(A) = p of=A d=4 | prob(B) = p of=B d=4 |
    prob(C) = p of=C d=4 | prob(D) = p of=D d=4
trivia_verbalized layout=jsonl :: question = text questions | verbalized_confidence = conf s=hundred |
    is_correct = correct False/True
simpleqa :: problem = text questions | grade = correct INCORRECT/CORRECT | stated_confidence = conf d=2
p_true layout=records :: prompt = text questions | judge_correct = correct 0/1 | p_true = conf d=4
said_words :: item = rownum 1 | how_sure = verbal | answer_correct = correct no/yes
squad_no_answer :: qid = uuid | unanswerable = y False/True rate=.4 | prob_unanswerable = p d=5
toxic_comments :: comment_text = text mails | toxic = y 0/1 rate=.1 | toxic_prob = p d=6
perspective layout=jsonl :: comment_id = rownum 1 | TOXICITY = p d=6 | human_toxic_label = y False/True rate=.2
tweet_sentiment :: tweet = text mails | sentiment = y negative/neutral/positive |
    roberta_negative = p of=negative d=5 | roberta_neutral = p of=neutral d=5 | roberta_positive = p of=positive d=5
nli_logits :: pair_id = id n | gold = y contradiction/entailment/neutral | logit_{} = each s=logit d=4
ag_news :: Class Index = y 1/2/3/4 | p_class_{} = each d=5
spam_sms layout=tab :: v1 = y ham/spam rate=.2 | v2 = text mails | P(spam) = p d=5
language_id layout=tab :: sentence_no = rownum 1 | language = y de/fr/it | fasttext_label = pred |
    fasttext_prob = conf d=5
tesseract layout=tab :: ground_truth = ytext | ocr_text = predtext | word_conf = conf s=pct d=2
asr_words :: speaker_id = cluster spk 25 | word_correct = correct 0/1 | word_confidence = conf d=3
preference :: prompt_id = rownum 1 | human_preferred = y A/B rate=.5 | prob_A_preferred = p of=A d=4
intent_vectors :: utterance = text mails | true_intent = y balance/card_lost/transfer |
    intent_probs = vec form=numpy d=4
guard_model layout=jsonl :: request = text mails | ground_truth_unsafe = y false/true rate=.3 | unsafe_prob = p d=5
essay_band layout=xlsx :: Essay = rownum 1 | Band = y 1/2/3/4/5 | P(Band={}) = each d=3
topic_de layout=latin :: Dokument = rownum 1 | Thema = y Kultur/Politik/Sport | Vorhersage = pred |
    Konfidenz = conf d=3
fake_audio :: utterance_file = id LA_E_ | key = y bonafide/spoof rate=.5 | prob_spoof = p d=5

# Weather, sports, forecasts, nature, schools, the public sector.
rain_tomorrow :: Date = date | Humidity3pm = int 20 99 | RainTomorrow = y No/Yes rate=.25 |
    RainTomorrow_prob = p d=3
pop_stations :: valid = date form=%Y%m%d%H | station = maybe_cluster KST 14 | PoP12 = p s=pct d=0 |
    rain_observed = y 0/1 rate=.3
ensemble_share layout=semicolon :: init_time = date | members_above_1mm = p s=frac steps=50 | obs_above_1mm = y 0/1
niederschlag layout=comma :: Datum = date form=%d.%m.%Y | Niederschlag beobachtet = y nein/ja rate=.4 |
    Niederschlagswahrscheinlichkeit [%] = p s=hundred
avalanche :: region = group Davos/Engadin/Wallis | danger = y 1/2/3/4 | p_danger_{} = each d=3
march_matchups :: GameID = id 2019_ | Team1Won = y 0/1 rate=.5 | PredTeam1Wins = p d=4
soccer_probs :: match = rownum 1 | FTR = y A/D/H | prob_H = p of=H d=4 | prob_D = p of=D d=4 | prob_A = p of=A d=4
shots_xg :: minute = int 1 94 | player = maybe_cluster PL 30 | goal = y 0/1 rate=.12 | xG = p d=4
win_probability :: game_date = date | home_team_win = y 0/1 rate=.55 | home_win_prob = p d=4 |
    home_elo = int 1300 1700
bundesliga layout=bom_comma :: Spieltag = int 1 34 | Ergebnis = y Heimsieg/Unentschieden/Auswärtssieg |
    P_Heimsieg = p of=Heimsieg s=pct d=1 | P_Unentschieden = p of=Unentschieden s=pct d=1 |
    P_Auswärtssieg = p of=Auswärtssieg s=pct d=1
complete_pass :: play_id = rownum 40 | air_yards = int 0 40 | complete_pass = y 0/1 rate=.6 | cp = p d=5
forecast_questions :: question_title = text questions | resolution = y no/yes rate=.35 |
    community_prediction = p d=2
market_contracts layout=windows :: contract = id M | resolved_yes = y 0/1 rate=.4 | implied_prob_yes = p d=3
birdnet layout=tab :: Start (s) = int 0 900 | Common name = cat Robin/Wren/Blackbird | Confidence = conf d=4 |
    Validated = correct 0/1
camera_trap :: deployment = maybe_cluster CT 18 | species_truth = y deer/empty/fox | deer_prob = p of=deer d=4 |
    empty_prob = p of=empty d=4 | fox_prob = p of=fox d=4
sdss layout=comments :: objid = rownum 1237648 | spec_class = y GALAXY/QSO/STAR | prob_galaxy = p of=GALAXY d=5 |
    prob_qso = p of=QSO d=5 | prob_star = p of=STAR d=5
kepler layout=percent_comments :: kepid = rownum 10797460 | koi_pdisposition = y FALSE~POSITIVE/CANDIDATE rate=.5 |
    prob_candidate = p d=3
covertype :: Elevation = int 1900 3700 | Cover_Type = y 1..7 | Cover_Type_prob_{} = each d=4
mnist_columns :: digit = y 0..9 | {} = each d=5
har_wide layout=txt :: activity = y LAYING/SITTING/STANDING/WALKING | participant = cluster 21 |
    p_LAYING = p of=LAYING d=4 | p_SITTING = p of=SITTING d=4 | p_STANDING = p of=STANDING d=4 |
    p_WALKING = p of=WALKING d=4
school_dropout :: school_id = cluster SCH 15 | pupil = rownum 1 | dropped_out = y 0/1 rate=.15 |
    dropout_risk = p d=4
oulad :: id_student = rownum 11391 | final_result = y Distinction/Fail/Pass/Withdrawn |
    Distinction = p of=Distinction d=4 | Fail = p of=Fail d=4 | Pass = p of=Pass d=4 |
    Withdrawn = p of=Withdrawn d=4
recidivism :: c_charge_degree = cat F/M | two_year_recid = y 0/1 rate=.45 | recid_probability = p d=4
survey_turnout :: idno = rownum 1 | pspwght = weight | voted = y No/Yes rate=.7 | p_voted = p d=3
quality_onehot :: sample_code = id S | is_{} = onehot low/mid/high | pr_{} = each d=4
mushrooms layout=markdown :: odor = cat a/n/f | poisonous = y no/yes rate=.5 | P(poisonous) = p d=3
intrusion layout=parquet :: src_bytes = int 0 9000 | attack = y 0/1 rate=.4 | attack_probability = p d=5
apprentissage layout=latin :: élève = rownum 1 | établissement = cat Est/Ouest | réussite = y échec/succès rate=.6 |
    probabilité de succès = p s=pct d=1
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
two_models_side also=y_actual:rf_proba :: y_actual = y 0/1 | lr_proba = p m=lr d=5 | rf_proba = p m=rf d=5
ensemble_and_member :: obs_event = y 0/1 rate=.3 | prob_ecmwf = p m=ecmwf d=3 | prob_gfs = p m=gfs d=3 |
    prob_icon = p m=icon d=3
market_and_model :: game_no = rownum 1 | home_won = y 0/1 rate=.5 | model_home_prob = p m=model d=3 |
    bookmaker_home_prob = p m=bookmaker d=3
doctor_and_model :: film = rownum 1 | fracture = y 0/1 rate=.3 | radiologist_prob = p m=radiologist d=2 |
    network_prob = p m=network d=4
before_after :: label_true = y 0/1 | prob_uncalibrated = p m=raw d=5 | prob_calibrated = p m=cal d=5
three_class_twice :: kind_true = y ape/bat/cow | cnn_{} = each m=cnn d=4 | svm_{} = each m=svm d=4
two_horizons also=died_90d:death_risk :: pat_no = rownum 1 | died_30d = y 0/1 rate=.2 | died_90d = y2 0/1 |
    death_risk = p d=4
two_raters also=reader_b:lesion_prob :: film_no = rownum 1 | reader_a = y 0/1 | reader_b = y2 0/1 |
    lesion_prob = p d=4
two_defects also=crack_found:defect_probability :: part = id P | leak_found = y 0/1 rate=.2 | crack_found = y2 0/1 |
    defect_probability = p d=4
margin or_refuse=yes :: obs_no = rownum 1 | svm_decision = p s=logit d=4 | is_cat = y 0/1 rate=.5
decile or_refuse=yes :: person_id = rownum 1 | decile_score = p s=ten d=0 | rearrested = y 0/1 rate=.4
sport_odds or_refuse=yes :: fixture = rownum 1 | full_time = y A/D/H | B365H = p of=H s=decimal d=2 |
    B365D = p of=D s=decimal d=2 | B365A = p of=A s=decimal d=2
survive_or_die or_refuse=yes :: record = rownum 1 | km_survival = p of=0 d=4 | death_observed = y 0/1 rate=.3
left_right or_refuse=yes :: trial = rownum 1 | choice = y left/right rate=.5 | model_probability = p d=4
sex_codes or_refuse=yes :: nr = rownum 1 | gender = y 1/2 rate=.5 | prob_gender = p d=4
numbered_from_zero or_refuse=yes :: seed_no = rownum 1 | variety = y 1/2/3 | proba_{i} = each d=4
single_letters or_refuse=yes also=w:u,w:v,w:x,t:u,t:x,t:v :: t = flag | u = unit | v = unit | w = y 0/1 | x = p d=4
no_header layout=headless or_refuse=yes :: first = p d=4 | second = y 0/1
no_header_tabs layout=headless_txt or_refuse=yes :: alpha = y 0/1 | beta = p d=4 | gamma = unit d=4
health_index or_refuse=yes :: unit_no = rownum 1 | health_index = p of=0 d=3 | failed = y 0/1 rate=.3
"""

# Nothing to read.
REFUSED = """\
kaggle_submission or_refuse=yes :: test_id = rownum 1 | predicted_target = p d=6
labels_only :: actual_species = y Adelie/Chinstrap/Gentoo | predicted_species = pred
features_only :: sepal_length = positive | sepal_width = positive | species = y setosa/versicolor/virginica
regression_table :: Id = rownum 1461 | SalePrice = thousands | SalePrice_predicted = thousands
roc_points n=50 or_refuse=yes :: fpr = unit | tpr = unit | thresholds = unit
training_log n=40 or_refuse=yes :: step = rownum 1 | train_loss = unit | eval_loss = unit | learning_rate = unit
reliability_bins n=10 or_refuse=yes :: mean_predicted_value = unit | fraction_of_positives = unit |
    bin_count = int 5 90
importance n=30 :: variable = id x | importance = unit | rank = rownum 1
coef_table n=15 :: names = id b | Estimate = gauss | Std. Error = unit | z value = gauss | Pr(>|z|) = unit
meter_readings :: timestamp = date form=%Y-%m-%d~%H:%M | kWh = positive | voltage = normal 230 3
credit_points or_refuse=yes :: applicant = id A | fico = int 450 850 | defaulted = y 0/1 rate=.2
mail_folders :: subject = text mails | folder_name = y inbox/junk/work
address_book :: name = id N | city = cat Bern/Basel/Genf | signup = date | phone = int 100000 999999
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
