"""The first set of recipes: names as published data sets and programs have them, to develop a reader with."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# Credit, insurance, fraud, staff.
santander :: ID_code = id train_ | target = y 0/1 rate=.1 | prediction = p d=6
home_credit :: SK_ID_CURR = rownum 100002 | AMT_INCOME_TOTAL = money | AMT_CREDIT = money | EXT_SOURCE_2 = unit |
    TARGET = y 0/1 rate=.08 | PRED = p d=5
ieee_fraud :: TransactionID = rownum 2987000 | TransactionDT = int 86400 900000 | TransactionAmt = money |
    card4 = cat visa/mastercard/discover | isFraud = y 0/1 rate=.05 | isFraud_prob = p d=6
german_credit_sas :: Account = id G | Duration = int 4 72 | CreditAmount = int 250 18424 |
    F_Class = y 1/2 rate=.3 | I_Class = pred | P_1 = p of=1 d=6 | P_2 = p of=2 d=6
lending_club :: member_id = rownum 1077501 | loan_amnt = int 1000 35000 | int_rate = positive |
    grade = cat A/B/C/D/E | annual_inc = money | loan_status = y Fully~Paid/Charged~Off rate=.2 | pd = p
fico_heloc :: RiskPerformance = y Good/Bad | ExternalRiskEstimate = int 33 94 |
    MSinceOldestTradeOpen = int 2 800 | prob_bad = p
bank_branch :: loan_no = id L | pd_12m = p d=6 | default_flag = y 0/1 rate=.1 |
    segment = group retail/sme/corporate | ead = weight | branch_code = cluster BR 14
score_and_pd :: app_id = id | credit_score = int 300 850 | pd = p | default = y 0/1 rate=.1
oof_fold :: row = rownum | fold = int 0 4 | oof_pred = p d=6 | target_enc = unit | target = y 0/1 rate=.2
predicted_default :: acct = id | default = y 0/1 rate=.3 | predicted_default = pred | default_prob = p
ifrs9 :: ContractId = id | PD = p d=5 | DefaultFlag = y 0/1 rate=.07 | Stage = cat 1/2/3 | SnapshotDate = date
pd_permille :: obligor = id O | pd_permille = p s=permille | defaulted = y 0/1 rate=.06
ausfall layout=comma :: Kundennummer = rownum 40017 | Alter = age | Einkommen = money |
    Ausfall = y nein/ja rate=.1 | Ausfallwahrscheinlichkeit = p
ausfall_prozent layout=latin :: Vertrag = id V | Kredithöhe = thousands | PD in % = p s=pct d=2 |
    Ausfall 12M = y 0/1 rate=.08
defaut_fr layout=bom_comma :: id_client = id | âge = age | revenu = money | défaut = y non/oui rate=.15 |
    proba_défaut = p
impago_es layout=semicolon :: id_cliente = rownum 5001 | edad = age | saldo = money | impago = y 0/1 rate=.12 |
    prob_impago = p d=5
credit_percent_sign :: Loan ID = id LN- | Balance = thousands | Probability of Default = p s=pct d=2 unit=% |
    Defaulted = y No/Yes rate=.1
taiwan_credit :: ID = rownum | LIMIT_BAL = int 10000 500000 | SEX = int 1 2 | EDUCATION = int 1 4 |
    MARRIAGE = int 1 3 | AGE = age | PAY_0 = int -2 8 | BILL_AMT1 = money |
    default.payment.next.month = y 0/1 rate=.22 | y_pred_proba = p d=6
gmsc layout=unnamed :: SeriousDlqin2yrs = y 0/1 rate=.08 | RevolvingUtilizationOfUnsecuredLines = unit |
    age = age | DebtRatio = unit | NumberOfDependents = int 0 5 | probability = p d=6
mortgage_weighted :: LOAN_SEQUENCE_NUMBER = id F12Q | score = p d=5 | delinquent = y 0/1 rate=.09 |
    sample_weight = weight
insurance_claim :: PolicyNumber = id P | VehAge = int 0 20 | ClaimOccurred = y 0/1 rate=.1 |
    predicted_probability = p | Exposure = weight
card_fraud :: cc_num = rownum 6011000000 | merchant = text | amt = money | is_fraud = y 0/1 rate=.06 |
    fraud_probability = p d=6 | trans_date_trans_time = date form=%Y-%m-%d~%H:%M:%S
attrition_ibm :: EmployeeNumber = rownum | Age = age | Department = cat Sales/R&D/HR |
    MonthlyIncome = int 1000 19999 | Attrition = y No/Yes rate=.16 | P(Attrition) = p d=3

# Marketing and churn.
telco_churn :: customerID = id | gender = cat Male/Female | SeniorCitizen = flag | tenure = int 0 72 |
    MonthlyCharges = money | Churn = y No/Yes rate=.27 | churn_probability = p
telco_spss :: custid = rownum | region = int 1 3 | tenure = int 1 72 | churn = y 0/1 | PRE_1 = p d=5 |
    PGR_1 = pred
bank_marketing layout=semicolon :: age = age | job = cat admin./blue-collar/technician |
    marital = cat married/single | balance = int -500 9000 | duration = int 4 900 | y = y no/yes rate=.12 |
    p_yes = p
click :: impression_id = rownum 900001 | hour = int 0 23 | device_type = int 0 5 | click = y 0/1 rate=.17 |
    pctr = p d=6
abwanderung layout=comma :: KundenID = id | Vertragsdauer = int 1 60 | Kündigung = y Nein/Ja rate=.2 |
    Wahrscheinlichkeit = p d=3
churn_knime :: Phone = id T | Day Mins = money | Churn = y 0/1 rate=.15 | P (Churn=0) = p of=0 d=3 |
    P (Churn=1) = p of=1 d=3 | Prediction (Churn) = pred
churn_rapidminer :: Row No. = rownum | Churn = y loyal/churn | prediction(Churn) = pred |
    confidence(loyal) = p of=loyal d=3 | confidence(churn) = p of=churn d=3 | Age = age |
    Gender = cat male/female
upsell_missing blank=upsell:0.1,propensity:0.05 :: account = id A | upsell = y 0/1 rate=.3 | propensity = p
subscribe_na layout=rnames blank=subscribed:0.15 na=NA :: user = id u | subscribed = y FALSE/TRUE rate=.25 |
    prob = p
conversion_bool :: session = uuid | converted = y False/True rate=.2 | score = p d=5 | country = cat DE/FR/US

# Medicine.
eicu_apache :: patientunitstayid = rownum 141168 | hospitalid = cluster 12 | apachescore = int 5 160 |
    predictedhospitalmortality = p d=6 | actualhospitalmortality = y ALIVE/EXPIRED rate=.12
mimic_mortality :: subject_id = rownum 10006 | hadm_id = rownum 142345 | anchor_age = age |
    hospital_expire_flag = y 0/1 rate=.12 | mortality_risk = p
euroscore_pct :: PatientID = id | Age = age | LVEF = int 15 70 | EuroSCORE II (%) = p s=pct d=2 |
    Mortality30d = y 0/1 rate=.1
qrisk :: practice = cluster P 9 | age = age | sbp = int 95 190 | qrisk_percent = p s=pct d=1 |
    cvd_event = y 0/1 rate=.15
sepsis :: encounter = id E | temp_c = gauss | lactate = positive | sepsis = y 0/1 rate=.2 | sepsis_risk = p |
    unit = cat MICU/SICU
pima :: Pregnancies = int 0 14 | Glucose = int 56 199 | BloodPressure = int 40 110 | BMI = positive |
    DiabetesPedigreeFunction = unit | Age = age | Outcome = y 0/1 | y_proba = p
p_value_beside :: gene = id | p_value = unit | mutated = y 0/1 | predicted_probability = p
breast_wisconsin :: id = rownum 842302 | diagnosis = y B/M rate=.37 | radius_mean = positive |
    texture_mean = positive | prob_M = p d=6
heart_cleveland :: age = age | sex = flag | cp = int 0 3 | trestbps = int 94 200 | chol = int 126 409 |
    thalach = int 71 202 | target = y 0/1 rate=.5 | pred_prob = p
readmission_datarobot :: row_id = rownum 0 | readmitted = y False/True rate=.4 |
    readmitted_False_PREDICTION = p of=False d=6 | readmitted_True_PREDICTION = p of=True d=6 |
    THRESHOLD = const 0.5 | POSITIVE_CLASS = const True
rms_lrm layout=rnames :: y = y 0/1 rate=.3 | linear.predictors = p s=logit d=5
logodds_named :: patient = id | log_odds = p s=logit | died = y 0/1 rate=.2 | age = age
sas_xbeta :: SUBJID = rownum 1001 | SEX = cat M/F | EVENT = y 0/1 rate=.3 | _LEVEL_ = const 1 | PHAT = p d=5 |
    LOWER = near -.06 | UPPER = near .05
klinik layout=latin :: Fallnummer = id F | Klinik = cluster K 8 | Alter = age | Verstorben = y nein/ja rate=.15 |
    Sterberisiko = p s=pct unit=~%
deces layout=comma :: N° dossier = rownum 2001 | Âge = age | Score IGS II = int 5 90 | Décès = y 0/1 rate=.2 |
    Probabilité prédite = p
fallecido layout=bom :: Paciente = id PX | Edad = age | Fallecido = y No/Sí rate=.15 | Riesgo estimado = p d=3
stroke_repeat :: patient_id = cluster PT 40 | visit = int 1 9 | stroke = y 0/1 rate=.2 | risk = p
odds_written :: case = rownum | odds_of_event = p s=odds | event = y 0/1 rate=.3
hospital_weights :: hospital = cluster S 10 | p_death = p | death = y 0/1 rate=.12 | iptw = weight
missing_999 blank=risk_score:0.08 na=NaN :: pid = id | risk_score = p | status = y alive/dead rate=.2
weiblich layout=comma :: Proband = rownum | Rückfall = y 0/1 rate=.3 | Geschlecht = group m/w | Risiko = p

# Programs, and two-class data sets of every kind.
sklearn_plain :: y_true = y 0/1 | y_prob = p d=16
sklearn_two_columns layout=pandas :: y_test = y 0/1 | proba_0 = p of=0 d=8 | proba_1 = p of=1 d=8
caret layout=rnames :: pred = pred | obs = y No/Yes | No = p of=No d=7 | Yes = p of=Yes d=7 | rowIndex = rownum |
    Resample = cat Fold1/Fold2/Fold3
tidymodels :: .pred_class = pred | .pred_no = p of=no | .pred_yes = p of=yes | .row = rownum | churn = y no/yes |
    .config = const Preprocessor1_Model1
mlr3 :: row_ids = rownum | truth = y neg/pos | response = pred | prob.neg = p of=neg d=6 |
    prob.pos = p of=pos d=6
h2o :: IsDepDelayed = y NO/YES | predict = pred | NO = p of=NO d=6 | YES = p of=YES d=6
h2o_01 :: response = y 0/1 | predict = pred | p0 = p of=0 d=8 | p1 = p of=1 d=8
azure_ml :: age = age | hours-per-week = int 5 90 | income = y <=50K/>50K rate=.25 | Scored Labels = pred |
    Scored Probabilities = p d=6
mlnet :: Label = y False/True | PredictedLabel = pred | Probability = p d=7
dataiku layout=tab :: id = rownum | purchased = y 0/1 | proba_0 = p of=0 | proba_1 = p of=1 | prediction = pred
stata :: foreign = y 0/1 | mpg = int 12 41 | weight = maybe_weight 1760 4840 | phat = p d=7
statsmodels :: admit = y 0/1 | gre = int 220 800 | gpa = positive | fitted = p d=6
xgboost_margin layout=tab :: label = y 0/1 | logit = p s=logit d=6
torch_logits :: logit_{i} = each s=logit d=5 | target = y 0/1
keras_sigmoid :: y = y 0/1 | sigmoid = p d=7
hf_trainer :: sentence = text | label = y 0/1 | prob_{} = each d=6
orange :: survived = y no/yes rate=.38 | status = cat crew/first/second | Logistic Regression (no) = p of=no d=6 |
    Logistic Regression (yes) = p of=yes d=6 | Logistic Regression = pred
proc_comments layout=comments :: obs_id = rownum | actual = y 0/1 | predicted_prob = p
utf16_excel layout=utf16 :: Nr = rownum | Ergebnis = y 0/1 | Vorhersage_Prob = p
parquet_binary layout=parquet :: id = rownum | label = y 0/1 | p1 = p d=10 | x1 = gauss | x2 = gauss
split_column :: split = split train/test | y = y 0/1 | prob = p | x = gauss
pipe_file layout=pipe :: CUST = id | RESP = y N/Y rate=.2 | PROB_RESP = p d=5
quoted_all layout=quoted :: id = rownum | outcome = y 0/1 | predicted risk = p
windows_lines layout=windows :: truth = y 0/1 | pred_proba = p d=6
minus_one :: class = y -1/1 | prob = p d=5 | f1 = gauss | f2 = gauss
one_two :: Response = y 1/2 rate=.2 | prob_2 = p of=2 d=5
label_float :: y = y 0.0/1.0 | p = p d=6
non_event_named :: customer = id | stayed = y 0/1 rate=.7 | p_stayed = p of=1
good_bad_columns :: applicant = id | prob_good = p of=good | prob_bad = p of=bad | status = y good/bad rate=.25
inverted_model quality=inverted n=380 :: id = rownum | default = y 0/1 rate=.3 | pd = p
useless_model quality=weak :: transaction = id T | fraud = y 0/1 rate=.2 | fraud_score = p | amount = money
inverted_two quality=inverted n=390 :: case = rownum | outcome = y 0/1 rate=.4 | prob_0 = p of=0 |
    prob_1 = p of=1
compas_prob :: id = rownum | age = age | race = group Caucasian/African-American/Hispanic |
    priors_count = int 0 20 | two_year_recid = y 0/1 rate=.45 | recid_prob = p d=3
titanic :: PassengerId = rownum | Pclass = int 1 3 | Sex = cat male/female | Fare = money |
    Survived = y 0/1 rate=.38 | Survived_proba = p
spam :: message = text | is_spam = y 0/1 rate=.2 | spam_probability = p d=5
spam_names :: Message = text | Category = y ham/spam rate=.2 | P(spam) = p d=5
rain :: date = date | station = maybe_cluster ST 15 | pop_percent = p s=pct d=0 steps=10 |
    rain_observed = y 0/1 rate=.3
rain_au :: Date = date | Location = maybe_cluster L 12 | Humidity3pm = int 10 100 |
    RainTomorrow = y No/Yes rate=.22 | ProbRainTomorrow = p d=2
outlier_flag :: sensor = maybe_cluster M 11 | vibration = gauss | failure = y 0/1 rate=.1 | failure_prob = p |
    timestamp = date form=%d.%m.%Y
score_before_label :: P(malignant) = p d=3 | malignant = y 0/1 rate=.35

# More than two classes.
otto :: id = rownum | target = y Class_1/Class_2/Class_3/Class_4/Class_5/Class_6/Class_7/Class_8/Class_9 |
    {} = each d=5
iris_caret :: obs = y setosa/versicolor/virginica | pred = pred | {} = each d=4
iris_mlr3 :: row_ids = rownum | truth = y setosa/versicolor/virginica | response = pred | prob.{} = each d=6
text_order :: label = y 0..11 | class_{} = each d=5 order=text
text_order_logits quality=fair :: logit_{} = each s=logit d=4 order=text | y = y 0..12 | id = rownum
shuffled_names :: animal = y bear/cat/deer/dog/fox | p_{} = each order=shuffled
reversed_numbers :: prob_{} = each order=reversed | digit = y 0..9
class_none :: true_label = y none/rain/snow | P({}) = each d=3
class_null_nan :: y = y null/nan/other | prob_{} = each d=5
mnist_keras :: prob_{} = each d=7 | label = y 0..9
labels_two_point_zero quality=fair :: class_{i} = each d=5 | label = y 0.0/1.0/2.0/3.0
torch_dump :: image = id img | target = y 0..4 | logit_{} = each s=logit d=6
log_softmax :: y_true = y 0..3 | logprob_{} = each s=logp d=6
log2_columns :: species = y ash/birch/oak | log2_{} = each s=log2 d=5
log10_columns :: truth = y A/B/C/D | log10p_{} = each s=log10 d=5
whole_percent :: true = y cat/dog/fish | cat_pct = p of=cat s=hundred | dog_pct = p of=dog s=hundred |
    fish_pct = p of=fish s=hundred
whole_percent_plain :: label = y red/green/blue/grey | {} = each s=hundred
permille_multi :: label = y 0..3 | prob_{} = each s=permille
tree_counts :: y = y setosa/versicolor/virginica | votes_{} = each s=trees
tree_counts_plain :: class = y low/mid/high | {} = each s=votes
byte_multi :: label = y 0..4 | prob_{} = each s=byte
cifar10h :: true_label = y 0..9 | count_{i} = each s=votes
proba_decimal_comma layout=latin :: Klasse = y rot/grün/blau | W({}) = each d=4
one_based :: class = y 1/2/3/4 | p{} = each d=5
one_based_shift :: label = y 1..5 | prob_{i} = each d=5
azure_multi :: Class = y A/B/C | Scored Probabilities for Class "{}" = each d=6 | Scored Labels = pred
sas_multi :: F_iris = y Setosa/Versicolor/Virginica | I_iris = pred | P_iris{} = each d=6
weather_types :: station = maybe_cluster W 12 | observed = y sun/rain/fog/snow | p_{} = each d=3 | temp = gauss
imagenet_small layout=tab :: filename = id img_ | gt = y n01440764/n02102040/n03000684 | {} = each d=6
parquet_multi layout=parquet :: label = y 0..5 | p_{} = each d=9
features_beside :: x1 = gauss | x2 = gauss | x3 = gauss | label = y a/b/c | proba_a = p of=a | proba_b = p of=b |
    proba_c = p of=c
sentiment :: tweet = text | airline_sentiment = y negative/neutral/positive | negative = p of=negative d=3 |
    neutral = p of=neutral d=3 | positive = p of=positive d=3
newsgroups blank=y:0.06 :: doc = rownum | y = y sci.med/sci.space/rec.autos/talk.guns | prob_{} = each d=6
inverted_multi quality=inverted n=300 :: label = y 0..3 | p_{} = each

# Pairs of confidence and correctness.
llm_verbal_number :: question_id = id Q | model_answer = cat A/B/C/D | confidence = conf d=2 steps=20 |
    is_correct = correct False/True
simpleqa :: problem = text | answer = text | predicted_answer = text |
    confidence_score = conf s=pct d=0 steps=20 | is_correct = correct 0/1
triviaqa :: qid = id tc_ | question = text | prediction = text | verbalized_confidence = conf d=1 steps=10 |
    correct = correct 0/1
mmlu_letters :: subject = cat anatomy/law/physics | answer = y A/B/C/D | prediction = pred | confidence = conf
mcq_gt :: gt = y A/B/C/D/E | predicted = pred | prob = conf d=6
weka :: inst# = rownum | actual = y 1:tested_negative/2:tested_positive | predicted = pred | error = blank |
    prediction = conf d=3
pycaret :: age = age | balance = money | target = y 0/1 | prediction_label = pred | prediction_score = conf
predicted_confidence_label :: predicted = pred | confidence = conf | label = y 0/1
classifier_top1 :: image_id = id im | true_class = y cat/dog/horse | predicted_class = pred |
    confidence = conf d=5
ocr :: box = rownum | text_true = ytext | text_pred = predtext | confidence = conf d=3
asr layout=tab :: utt = id utt | reference = ytext | hypothesis = predtext | conf = conf d=3
detector :: image_id = cluster 40 | category = cat person/car/dog | score = conf d=3 |
    true_positive = correct 0/1
detector_tp :: image = cluster img 30 | class = cat car/truck | confidence = conf | tp = correct False/True
hits :: query = text | confidence = conf | hit = correct 0/1
richtig layout=semicolon :: Frage = rownum | Konfidenz = conf s=pct d=0 steps=20 | richtig = correct nein/ja
juste layout=comma :: question = rownum | confiance = conf d=2 | correct = correct non/oui
acierto :: pregunta = rownum | confianza = conf d=2 | correcta = correct no/sí
human_raters :: participant = cluster S 20 | trial = int 1 60 | conf_rating = conf s=pct d=0 |
    accuracy = correct 0/1
llm_long n=300 :: question_id = id Q | model = model small/large | confidence = conf d=2 |
    correct = correct false/true
llm_repeated :: question_id = cluster Q 60 | sample = int 1 5 | confidence = conf d=2 | correct = correct 0/1
llm_percent_sign :: prompt = text | response = text | confidence = conf s=pct d=0 steps=20 unit=% |
    correct = correct No/Yes
top1_numbers :: y_true = y 0..9 | y_pred = pred | max_prob = conf d=6
msp :: label = y 0..4 | pred_label = pred | msp = conf d=6 | entropy = positive
triage_bot :: ticket = id | true_queue = y billing/tech/sales | predicted_queue = pred | probability = conf d=3
ner_spans :: doc = cluster D 25 | entity = text | is_correct = correct False/True | score = conf d=5
pairs_inverted quality=inverted :: item = rownum | confidence = conf | correct = correct 0/1
pairs_missing blank=confidence:0.1 :: qid = id | confidence = conf d=2 | correct = correct 0/1
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
two_models :: loan = id | pd_glm = p m=glm | pd_gbm = p m=gbm | default = y 0/1 rate=.15
three_models :: y = y 0/1 | logreg = p m=logreg d=5 | rf = p m=rf d=5 | xgb = p m=xgb d=5
two_models_multi :: label = y a/b/c | cnn_{} = each m=cnn | vit_{} = each m=vit
two_llms also=correct_70b:conf_70b :: qid = id | conf_7b = conf m=7b | correct_7b = correct 0/1 |
    conf_70b = conf m=70b | correct_70b = y2 0/1
two_outcomes also=death_1y:risk :: patient = id | risk = p | death_30d = y 0/1 rate=.15 | death_1y = y2 0/1
nameless also=a:c :: a = y 0/1 | b = p | c = unit
nameless_more also=v2:v1,v4:v1,v4:v3 :: v1 = unit | v2 = y 0/1 | v3 = p | v4 = flag
svm_margin or_refuse=yes :: label = y 0/1 | decision_function = p s=logit d=5
int8_tflite :: label = y 0..3 | out_{} = each s=int8
out_of_ten or_refuse=yes :: student = id | passed = y 0/1 rate=.6 | rating = p s=ten d=1
survival or_refuse=yes :: patient = id | prob_survival = p of=0 | died = y 0/1 rate=.25
bps or_refuse=yes :: obligor = id | pd_bps = p s=bps | default = y 0/1 rate=.1
percent_unsaid :: patient = id | risk = p s=pct | event = y 0/1 rate=.3
percent_whole_unsaid :: id = rownum | probability = p s=pct d=0 | churn = y 0/1 rate=.3
no_header_two layout=headless or_refuse=yes :: p = p | y = y 0/1
no_header_cifar10h layout=headless or_refuse=yes :: label = y 0..9 | n{i} = each s=votes m=people |
    p{i} = each d=5 m=network
decile or_refuse=yes :: id = rownum | decile_score = p s=ten d=0 | two_year_recid = y 0/1 rate=.45
verbal or_refuse=yes :: question = rownum | confidence = verbal | correct = correct 0/1
two_labels also=annotator_2:score :: text = text | annotator_1 = y 0/1 | annotator_2 = y2 0/1 | score = p
col_names also=2:1,2:0+1 or_refuse=yes :: 0 = p | 1 = unit | 2 = y 0/1
which_class or_refuse=yes :: id = rownum | class = y left/right rate=.5 | probability = p
raw_and_calibrated :: y = y 0/1 | p_raw = p m=raw | p_calibrated = p m=calibrated
euroscore_plain or_refuse=yes :: id = rownum | EuroSCORE = p s=pct d=2 | mort = y 0/1 rate=.1
feature_or_score also=default:utilisation or_refuse=yes :: default = y 0/1 rate=.2 | utilisation = unit | x = p
"""

# Nothing to read.
REFUSED = """\
customer_age_label :: customer_id = rownum 1001 | age = age | label = y 0/1
four_features :: customer_id = rownum 1001 | age = age | amount = money | label = y 0/1
hard_predictions :: y_true = y 0/1 | y_pred = pred
hard_multi :: actual = y cat/dog/bird | predicted = pred
hard_numbers :: id = rownum | label = y 0..9 | prediction = pred
adult_features :: age = age | education-num = int 1 16 | capital-gain = int 0 9999 | hours-per-week = int 5 90 |
    income = y <=50K/>50K
iris_features :: SepalLengthCm = positive | SepalWidthCm = positive | PetalLengthCm = positive |
    PetalWidthCm = positive | Species = y setosa/versicolor/virginica
titanic_features :: PassengerId = rownum | Survived = y 0/1 | Pclass = int 1 3 | Sex = cat male/female |
    Age = age | Fare = money
no_outcome or_refuse=yes :: id = rownum | prediction = p
submission or_refuse=yes :: ID_code = id test_ | target = p d=6
otto_submission :: id = rownum | Class_1 = unit | Class_2 = unit | Class_3 = unit
labels_one_and_half :: label = y 0.5/1.5/2.5 | p_{i} = each d=5
dates_only :: date = date | amount = money | category = cat food/rent/fun
regression :: id = rownum | SalePrice = thousands | predicted_price = thousands
fico_score or_refuse=yes :: id = rownum | fico = int 300 850 | default = y 0/1
text_and_label :: review = text | sentiment = y neg/pos
ids_and_dates :: order = id | customer = uuid | ordered = date | returned = y 0/1
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
