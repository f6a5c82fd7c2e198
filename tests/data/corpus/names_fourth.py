"""The fourth set of recipes: other data sets, programs and languages than the first three; for measuring only."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# Credit, insurance, fraud, staff.
hmda :: activity_year = const 2021 | loan_term_months = int 120 360 | derived_race = group White/Black/Asian |
    debt_to_income = int 5 60 | application_denied = y 0/1 rate=.15 | denial_prob = p d=5
bondora :: LoanId = uuid | Country = cat EE/FI/ES | Interest = normal 30 9 d=2 | ProbabilityOfDefault = p d=6 |
    DefaultedWithin12M = y False/True rate=.15
insolvenza_it layout=comma :: Codice cliente = rownum 40012 | Età = age | Reddito annuo = thousands |
    Insolvenza = y no/sì rate=.1 | Probabilità di insolvenza = p
inadimplencia_pt layout=semicolon :: cod_cliente = id CL | renda_mensal = money | inadimplente = y não/sim rate=.15 |
    prob_inadimplencia = p d=5
wanbetaling_nl layout=comma :: Klantnummer = rownum 20001 | Leeftijd = age | Wanbetaling = y nee/ja rate=.1 |
    Kans op wanbetaling = p s=pct d=1 unit=%
insolvenz_de layout=latin_quoted :: HRB-Nr. = id HRB | Branche = cat Bau/Handel/Gastronomie |
    Insolvenz innerhalb 1 Jahr = y nein/ja rate=.08 | Insolvenzwahrscheinlichkeit (in %) = p s=pct d=2
incident_fr layout=bom_comma :: réf_prêt = id PR | taux_endettement = unit | incident_paiement = y N/O rate=.12 |
    proba_incident = p d=3
moroso_es layout=quoted_semicolon :: n_prestamo = rownum 3001 | ingresos = money | moroso = y NO/SI rate=.15 |
    probabilidad_moroso = p d=5
proc_predprobs :: LOAN_AMT = int 1000 30000 | JOB_YRS = int 0 30 | _FROM_ = y 0/1 rate=.2 | _INTO_ = pred |
    IP_0 = p of=0 d=5 | IP_1 = p of=1 d=5 | _LEVEL_ = const 1
viya_levels :: P_settledYes = p of=Yes d=8 | P_settledNo = p of=No d=8 | I_settled = pred | settled = y No/Yes rate=.6
drift_monitor layout=parquet :: timestamp = date form=%Y-%m-%d~%H:%M:%S | salary_range = cat 0-20K/20K-40K/40K-60K |
    size_of_downpayment = int 0 90 | proba_repaid_in_full = p d=6 | repaid_in_full = y 0/1 rate=.6
repossession :: contract_no = id AC | originated = date form=%m/%d/%Y | vehicle_age = int 0 14 |
    apr = normal 9 3 d=2 | repossessed = y N/Y rate=.08 |
    repo_prob = p d=5
household_claims layout=tab :: Household_ID = cluster HH 60 | Vehicle_no = int 1 3 | Claim_YN = y N/Y rate=.1 |
    pred_claim_YN = p d=6
caravan :: MOSTYPE = int 1 41 | PPERSAUT = int 0 6 | CARAVAN = y 0/1 rate=.07 | P_CARAVAN = p d=6
travel_insurance :: Agency = cat C2B/EPX/JZI | Duration = int 1 90 | Net Sales = money | Claim = y No/Yes rate=.08 |
    Claim probability = p d=5
provider_fraud :: Provider = id PRV | InscClaimAmtReimbursed = money | PotentialFraud = y No/Yes rate=.1 |
    FraudProb = p d=6
chargebacks layout=jsonl :: order_ref = uuid | ordered_at = date form=%Y-%m-%dT%H:%M:%SZ |
    ip_country = cat US/GB/BR | chargeback = y 0/1 rate=.1 |
    chargeback_prob_pct = p s=pct d=2
aml_alerts layout=pipe :: ALERT_ID = id AL | ALERT_DT = date form=%d%b%Y | WIRE_AMT = money |
    SAR_FILED = y N/Y rate=.12 | P_SAR = p d=5
takeover :: login_id = uuid | new_device = flag | km_from_last_login = int 0 9000 | ato_confirmed = y 0/1 rate=.08 |
    ato_prob = p d=6
terminations :: EmpID = rownum 10026 | Sex = group F/M | EngagementSurvey = normal 4.1 .6 d=2 | Termd = y 0/1 rate=.3 |
    Term_prob = p
austritt_de layout=comma :: Personalnr. = rownum 7001 | Abteilung = cat IT/Einkauf/Vertrieb |
    Austritt = y nein/ja rate=.15 | Austrittswahrscheinlichkeit = p s=pct d=1 unit=~%
job_change :: enrollee_id = rownum 8949 | city_development_index = normal .7 .08 d=3 | training_hours = int 1 336 |
    changes_job = y 0.0/1.0 rate=.25 | proba_changes_job = p d=6
tax_audit blank=adjusted:0.06 na=NA :: return_no = id TR | schedule_c = flag | adjusted = y 0/1 rate=.3 |
    pr_adjusted = p d=5 | sampling_wt = weight
auto_fr layout=semicolon :: n_contrat = rownum 8001 | zone = cat A/B/C/D | sinistre_déclaré = y 0/1 rate=.12 |
    probabilité_sinistre_déclaré = p d=5 | exposition = weight
permille_fourth layout=comma :: Depot = id DP | Volumen = thousands | Zahlungsunfähig = y nein/ja rate=.08 |
    Wahrscheinlichkeit Zahlungsunfähigkeit (‰) = p s=permille d=1
regional_lender :: sucursal_id = cluster SUC 12 | credito = id CD | atraso_60d = y 0/1 rate=.15 | prob_atraso_60d = p

# Marketing and churn.
web_analytics :: user_pseudo_id = uuid | engaged_sessions = int 0 30 | purchased_next_7d = y 0/1 rate=.1 |
    purchase_probability = p d=6
crm_deals :: Deal ID = rownum 870012 | Deal Stage = cat Demo/Proposal/Contract | Closed Won = y false/true rate=.3 |
    Predictive Likelihood to Close = p s=pct d=2 unit=%
mobile_ads layout=tab :: banner_pos = int 0 7 | site_domain = cat 1fbe01fe/85f751fd | ad_clicked = y 0/1 rate=.17 |
    ctr_hat = p d=6
hotel_search :: srch_id = maybe_cluster 50 | prop_starrating = int 1 5 | price_usd = money |
    booking_bool = y 0/1 rate=.1 | booking_bool_prob = p d=6
appetency :: Var126 = int -30 60 | Var189 = int 0 600 | appetency = y -1/1 rate=.08 | appetency_prob = p d=6
handset :: CUSTOMER = rownum 1000001 | MOU = normal 520 200 d=1 | EQPDAYS = int 0 900 | CHURNDEP = y 0/1 rate=.3 |
    P_CHURNDEP = p
opzegging_nl layout=comma :: Klantnr = id KL | Abonnementsduur = int 1 90 | Opgezegd = y nee/ja rate=.2 |
    Opzegkans = p d=3
disdetta_it layout=tab_comma :: N. contratto = rownum 1501 | Canone mensile = int 9 120 | Disdetta = y No/Sì rate=.2 |
    Probabilità disdetta (%) = p s=pct d=1
cancelamento_pt layout=bom :: id_assinante = id AS | meses_ativo = int 1 60 | cancelou = y não/sim rate=.25 |
    probabilidade_cancelamento = p d=3
verlaengerung_de layout=excel :: Vertragsnr = id V | Restlaufzeit = int 0 24 | verlängert = y nein/ja rate=.6 |
    P(verlängert) = p d=3
retoure_de layout=latin :: Bestellnr = rownum 91001 | Warenwert (EUR) = money | Retoure = y 0/1 rate=.3 |
    Retourenwahrscheinlichkeit = p s=pct unit=~%
achat_fr layout=latin_quoted :: n° carte = rownum 50011 | panier moyen = money | acheté = y non/oui rate=.15 |
    probabilité d'achat = p
respuesta_es layout=utf16 :: Nº socio = rownum 701 | Provincia = cat Madrid/Sevilla/Soria |
    Respondió = y no/sí rate=.15 | Probabilidad de respuesta = p d=3
veterans_mailing :: CONTROLN = rownum 95515 | LASTGIFT = int 1 90 | TARGET_B = y 0/1 rate=.07 | P_TARGET_B = p d=6
coffee_offers layout=records :: person = uuid | offer_type = cat bogo/discount | offer_completed = y 0/1 rate=.45 |
    prob_offer_completed = p d=6
mobile_game :: device = id d | level_reached = int 1 80 | is_payer = y FALSE/TRUE rate=.08 | payer_prob = p d=5
uninstalls blank=p_uninstall_d30:0.05 :: install_id = uuid | crashes = int 0 9 | uninstalled_d30 = y 0/1 rate=.4 |
    p_uninstall_d30 = p
ensemble_builder :: Age = age | Plan = cat basic/family/premium | Upgraded = y No/Yes rate=.3 |
    No probability = p of=No d=5 | Yes probability = p of=Yes d=5
warehouse_scores :: RENEWAL_FLAG = y 0/1 rate=.7 | TENURE_MONTHS = int 1 120 | PREDICT_PROBA_0 = p of=0 d=8 |
    PREDICT_PROBA_1 = p of=1 d=8

# Medicine, biology, chemistry.
challenge_2019 layout=pipe :: HR = normal 85 15 d=0 | O2Sat = int 88 100 | Temp = normal 36.9 .6 |
    SepsisLabel = y 0/1 rate=.1 | PredictedProbability = p d=6 | PredictedLabel = pred
challenge_2012 :: RecordID = rownum 132539 | SAPS-I = int 1 30 | Length_of_stay = int 2 60 |
    In-hospital_death = y 0/1 rate=.14 | P(In-hospital_death) = p d=5
p_possum layout=quoted :: Theatre case = id TC | Urgency = cat elective/urgent/emergency |
    P-POSSUM mortality (%) = p s=pct d=1 | Died in hospital = y No/Yes rate=.08
laparotomy :: hospital_no = cluster HS 9 | asa_grade = int 1 5 | nela_risk_of_death = p d=5 | died_30d = y 0/1 rate=.1
pooled_cohort :: SBP = normal 131 17 d=0 | HDL = normal 52 14 d=0 | ascvd_10y_risk_pct = p s=pct d=1 |
    ascvd_event_10y = y 0/1 rate=.12
gail_model layout=rnames :: AgeMen = int 9 16 | N_Biop = int 0 2 | AbsRisk5y = p d=6 | breast_ca_5y = y 0/1 rate=.08
lung_screening :: pack_years = int 10 110 | quit_years = int 0 20 | PLCOm2012_prob = p d=5 |
    lung_cancer_6y = y 0/1 rate=.08
fracture :: BMD_tscore = gauss | prior_fracture = flag | FRAX_hip_pct = p s=pct d=1 | hip_fracture_10y = y 0/1 rate=.1
head_trauma layout=comments :: cause = cat RTC/fall/other | gcs_total = int 3 14 | CRASH_prob_death_14d = p |
    dead_at_14d = y 0/1 rate=.2
vaginal_birth :: maternal_age = int 18 44 | prior_vbac = flag | VBAC success = y no/yes rate=.7 |
    Predicted VBAC chance = p s=pct d=1 unit=%
ivf_cycles :: woman_id = cluster W 60 | cycle_no = int 1 4 | oocytes = int 0 25 | live_birth = y 0/1 rate=.3 |
    pred_live_birth = p d=5
patches layout=parquet :: patch_id = uuid | tumor_tissue = y 0/1 rate=.4 | tumor_tissue_prob = p d=8
uci_ingreso layout=latin :: Nº historia = rownum 5501 | Edad = age | Ingreso UCI = y NO/SÍ rate=.2 |
    Prob. ingreso UCI = p
obito_pt layout=comma :: prontuário = rownum 12001 | idade = age | óbito = y Não/Sim rate=.15 | risco de óbito = p
decesso_it layout=excel :: Cartella = id CC | Reparto = cat Chirurgia/Medicina | Decesso = y 0/1 rate=.12 |
    Rischio di decesso = p s=pct unit=%
heropname_nl layout=tab_comma :: Ziekenhuis = cluster ZH 8 | Opnamenr = rownum 1 | Heropname 30 dgn = y nee/ja rate=.2 |
    Heropnamekans = p
wundinfektion_de layout=latin_quoted :: OP-Nr. = rownum 3301 | OP-Dauer (min) = int 20 400 |
    Wundinfektion = y N/J rate=.1 | Infektionswahrscheinlichkeit = p
readmission_fr layout=csv2 :: CHU = cluster CHU 8 | séjour = id SJ | réadmission_30j = y non/oui rate=.2 |
    risque_réadmission_30j = p d=5
maligno_es layout=semicolon :: n_biopsia = rownum 201 | tamaño_mm = int 3 60 |
    resultado = y benigno/maligno rate=.3 | prob_maligno = p
decision_curve layout=rnames :: patientid = rownum | famhistory = flag | marker = normal 1.1 .8 d=3 |
    has_cancer = y FALSE/TRUE rate=.14 | cancerpredmarker = p d=8
health_survey :: SEQN = rownum 83732 | RIDAGEYR = age | BMXBMI = normal 28 6 | WTMEC2YR = maybe_weight 5000 90000 |
    has_diabetes = y 0/1 rate=.15 | prob_has_diabetes = p
cow_health layout=comma :: Kuh-Nr. = cluster 40 | Laktation = int 1 6 | Mastitis = y nein/ja rate=.2 |
    Mastitisrisiko = p d=3
tooth_decay :: pat_no = cluster PN 50 | tooth = int 11 48 | dentist_finding = y sound/carious rate=.25 |
    p_carious = p d=3
brain_barrier :: mol_name = id mol | TPSA = normal 70 25 | p_np = y 0/1 rate=.7 | bbb_prob = p d=5
ames_test layout=tab :: CAS = id CAS | MW = normal 310 80 | mutagenic = y negative/positive rate=.45 |
    P(mutagenic) = p d=3
delirium_wards layout=index :: adm_date = date | ward = maybe_cluster W 10 | delirium_onset = y 0/1 rate=.15 |
    delirium_prob = p | ipc_weight = weight
arrhythmia_logit :: rec = id rec | qrs_ms = normal 98 14 d=0 | has_af = y 0/1 rate=.25 | af_log_odds = p s=logit d=5
transplant blank=graft_lost_1y:0.1 na=. :: donor_age = age | cold_ischaemia_h = normal 14 5 |
    graft_lost_1y = y 0/1 rate=.15 | pr_graft_loss = p

# Programs, sports, forecasts, nature, machines.
unit_predictions layout=rnames :: rowid = rownum | estimate = p d=7 | std.error = normal .06 .015 d=4 |
    conf.low = near -.1 | conf.high = near .1 | vs = y 0/1 rate=.45
glmnet_response layout=rnames :: lambda.min = p d=7 | relapse_obs = y 0/1 rate=.3
roc_simple layout=rnames :: predictions = p d=7 | labels = y 0/1 rate=.45
skill_score :: obs = y 0/1 rate=.3 | pred = p d=3
explainer layout=rnames :: predicted = p d=7 | observed = y 0/1 rate=.4 | label = const ranger
sigmoid_dump layout=unnamed :: sigmoid_output = p d=7 | is_sarcastic = y 0/1 rate=.4
boosted_log_odds layout=parquet :: user_ix = rownum 0 | converted_label = y 0/1 rate=.2 |
    lgb_pred_log_odds = p s=logit d=6
bce :: defect_logit = p s=logit d=6 | is_defect = y 0/1 rate=.2 | split = split train/val/test
julia_pdf :: batch = id B | pdf_fresh = p of=fresh d=6 | pdf_spoiled = p of=spoiled d=6 |
    state_true = y fresh/spoiled rate=.3
low_code :: shelf_days = int 1 90 | claimed_warranty = y 0/1 rate=.2 | prediction_label = pred |
    prediction_score_0 = p of=0 | prediction_score_1 = p of=1
minitab :: Case = rownum 1 | Ads = flag | Children = flag | Bought_again = y No/Yes rate=.3 | EPRO1 = p d=6
event_prob :: id = rownum | Fitted Probability = p d=5 | Response Event = y 0/1 rate=.35 |
    Leverage (hat) = normal .02 .006 d=4
baseball :: Lg = cat AL/NL | Opp = cat BOS/NYY/TBR | W/L = y L/W rate=.5 | pregame_win_prob = p d=3
kickers :: kicker = maybe_cluster K 20 | kick_distance = int 18 62 | fg_good = y 0/1 rate=.85 | fg_make_prob = p d=6
esports layout=tab :: gameId = rownum 4519157822 | blueWardsPlaced = int 5 90 | blueWins = y 0/1 rate=.5 |
    blueWinProb = p
tipping layout=semicolon :: tipster = cluster T 25 | gameday = date form=%d/%m/%Y | homewin = y 0/1 rate=.55 |
    prob_homewin = p d=2
hurricanes :: disturbance = id AL | basin = cat ATL/EPAC | formed_48h = y 0/1 rate=.3 |
    formation_prob_48h_pct = p s=pct d=0 steps=10
hail :: grid = rownum 1 | cape = int 0 4000 | hail_reported = y 0/1 rate=.15 | P_hail = p d=2 steps=50
gewitter_de layout=csv2 :: Stationsnr = maybe_cluster 10 | Gewitter = y nein/ja rate=.2 |
    Gewitterwahrscheinlichkeit = p s=pct d=0 unit=~%
neige_fr layout=comma :: massif = maybe_cluster M 9 | altitude = int 800 2900 | neige_observée = y 0/1 rate=.35 |
    proba_neige = p d=2
lluvia_es layout=bom_comma :: estación = maybe_cluster E 12 | fecha = date form=%d/%m/%Y | llovió = y no/sí rate=.3 |
    prob_lluvia (%) = p s=pct d=0
vorst_nl layout=semicolon :: meetpunt = maybe_cluster MP 9 | vorst = y nee/ja rate=.25 | vorstkans_pct = p s=pct d=0
smog layout=jsonl :: monitor = maybe_cluster S 10 | day = date | exceeds_pm25 = y False/True rate=.2 |
    prob_exceeds_pm25 = p d=4
transients :: candid = rownum 9001 | magpsf = normal 18.5 1.1 d=3 | is_real = y 0/1 rate=.55 | drb_score = p d=6
frane_it layout=csv2 :: cella = rownum 1 | pendenza = normal 22 9 | frana = y no/sì rate=.25 | probabilità_frana = p
wafer_test :: lot = maybe_cluster LOT 9 | die_x = int 0 40 | die_y = int 0 40 | final_test = y PASS/FAIL rate=.12 |
    fail_prob = p d=5
hard_drives :: serial_number = id Z30 | model = cat ST4000DM000/HMS5C4040/MG07ACA14TA | smart_5_raw = int 0 80 |
    failed_30d = y 0/1 rate=.07 | p_failed_30d = p d=6
verspaetung_de layout=excel :: Zugnr = id ICE | Abfahrt = date form=%d.%m.%Y~%H:%M | verspätet = y 0/1 rate=.3 |
    Verspätungswahrscheinlichkeit = p d=3
deepfakes :: filename = id vid | label = y REAL/FAKE rate=.4 | prob_fake = p d=6
clickbait :: postId = rownum 608310 | postText = text | truthClass = y no-clickbait/clickbait rate=.25 |
    clickbaitScore = p d=6
court layout=quoted :: docket = id DK | issue_area = int 1 14 | decision = y affirmed/reversed rate=.4 |
    prob_reversed = p d=3
school :: school_code = cluster SC 11 | attendance = normal 88 3.5 | failed_grade = y 0/1 rate=.15 |
    prob_failed_grade = p d=3
traffic_stops :: stop_id = rownum 1 | driver_race = group Black/Hispanic/White |
    contraband_found = y FALSE/TRUE rate=.2 |
    hit_prob = p d=5
inverted_fourth quality=inverted n=380 :: permit = rownum 1 | permit_denied = y 0/1 rate=.3 | denied_prob = p
useless_fourth quality=weak n=330 :: device = id DV | overheated = y no/yes rate=.2 | overheating_probability = p
inverted_two_fourth quality=inverted n=390 :: lapsed_policy = y 0/1 rate=.4 | lapse_p0 = p of=0 | lapse_p1 = p of=1
log_two_fourth :: gold_hateful = y no/yes | lnprob_no = p of=no s=logp d=6 | lnprob_yes = p of=yes s=logp d=6
long_learners n=360 :: learner = model glm/gbm/knn | application = id AP | arrears_12m = y 0/1 rate=.2 |
    arrears_prob = p d=5

# More than two classes.
discriminant layout=rnames :: class = pred | posterior.{} = each d=7 | x.LD1 = gauss | x.LD2 = gauss |
    cultivar_true = y Barbera/Barolo/Grignolino
mnist_table :: id = rownum 0 | guess = pred | actual_digit = y 0..9 | score_{} = each d=6
cat_tracks :: Species = y bobcat/coyote/gray_fox | .pred_{} = each d=7
nomreg :: jobcat = y 1/2/3 | educ = int 8 21 | EST{}_1 = each d=6 | PRE_1 = pred
mlogit layout=tab :: insure = y Indemnity/Prepaid/Uninsure | age = age | nonwhite = flag | pr_{} = each d=7
ice_cream :: Subject = rownum 1 | _FROM_ = y Chocolate/Strawberry/Vanilla | _INTO_ = pred | IP_{} = each d=5
one_star :: trueLabel = y 1_star/2_stars/3_stars/4_stars/5_stars | {} = each d=6
skin_lesions :: image = id ISIC_ | diagnosis_true = y AKIEC/BCC/BKL/DF/MEL/NV/VASC | {} = each d=6 order=shuffled
fundus :: id_code = uuid | dr_grade = y 0..4 | grade_{}_prob = each d=5
shelter :: AnimalID = id A | OutcomeType = y Adoption/Died/Euthanasia/Return_to_owner/Transfer | {} = each d=5
shopping_trips :: VisitNumber = rownum 5 | TripType = y 3/5/7/8/24/39/40/999 | TripType_{} = each d=5
rentals :: listing_id = rownum 7142618 | bathrooms = int 1 3 | interest_level = y high/low/medium |
    {} = each d=5 order=shuffled
malware_families :: Id = uuid | Class = y 1..9 | Prediction{} = each d=6
wafer_maps :: waferIndex = rownum 1 | failureType = y Center/Donut/Edge-Loc/none | {}_proba = each d=5
continents :: country = id C | continent = y AF/AS/EU/NA/OC | country_model_{} = each d=4
sleep_stages :: subject = cluster SC 20 | epoch = int 1 900 | stage = y N1/N2/N3/R/W | prob_{} = each d=5
match_fr layout=comma :: journée = int 1 38 | résultat = y 1/2/N | proba_1 = p of=1 d=3 | proba_N = p of=N d=3 |
    proba_2 = p of=2 d=3
frucht_de layout=csv2 :: Schlag = id SL | Fruchtart = y Gerste/Mais/Raps/Weizen | Wahrsch. {} = each d=3
sol_fr layout=tab_comma :: pixel = rownum 1 | occupation observée = y bâti/eau/forêt/prairie | probabilité {} = each d=4
kans_nl layout=semicolon :: foto = id f | ware_soort = y eik/es/populier | kans_{} = each s=pct d=1
voto_it layout=bom_comma :: sezione = rownum 1 | voto reale = y centro/destra/sinistra | prob. {} = each d=3
turnos_pt :: ficha = rownum 1 | classe_real = y alta/baixa/média | chance_{} = each d=5
speech_commands layout=parquet :: clip_id = uuid | spoken_word = y down/go/left/right/stop | {}_logit = each s=logit d=6
brain_mri :: file_name = id Te- | tumor_type = y glioma/meningioma/notumor/pituitary |
    log_softmax_{} = each s=logp d=6
month_text_order :: bloom_month = y 1..12 | month_{}_p = each d=5 order=text
head_logits layout=jsonl :: sample = rownum 0 | gt_class = y 0..6 | head_logit_{} = each s=logit d=5
float_grades :: board_id = id B | grade_actual = y 1.0/2.0/3.0/4.0 | pgrade_{j} = each d=5
trees_voted layout=rnames :: landcover = y bare/crop/forest/water | ntree_{} = each s=trees
byte_maps :: tile = id t | land_gt = y grass/road/roof | u8_{} = each s=byte

# Pairs of confidence and correctness.
dataset_export :: filepath = id img | ground_truth.label = y bird/cat/frog | predictions.label = pred |
    predictions.confidence = conf d=6
oml_scores :: CASE_ID = rownum 1 | ACTUAL_SEGMENT = y A/B/C | OML$PREDICTION1 = pred | OML$PROBABILITY1 = conf d=6
textract :: Page = int 1 9 | DetectedText = predtext | ReferenceText = ytext | TextConfidencePct = conf s=pct d=4
texte_fr layout=semicolon :: ligne = rownum 1 | texte_reconnu = predtext | texte_réel = ytext |
    indice_de_confiance = conf d=3
speech_ctm layout=txt :: recording_id = cluster R 25 | begin_s = positive | spoken = ytext | recognised = predtext |
    asr_confidence = conf d=3
med_exam layout=jsonl :: question = text questions | answer_idx = y A/B/C/D | model_letter = pred |
    letter_confidence = conf d=3
multi_hop layout=jsonl :: question = text questions | em = correct 0/1 | verbalised_conf = conf d=2
coding_agent :: instance_id = id repo- | resolved = correct False/True | agent_confidence = conf d=2
traces :: inputs.question = text questions | outputs.answer = text | outputs.confidence = conf d=2 |
    feedback.correctness = correct 0/1
sql_bot layout=records :: nl_query = text questions | execution_match = correct False/True | sql_confidence = conf d=3
matched_boxes :: image_no = cluster 40 | category_name = cat bus/person/truck | bbox_score = conf d=5 |
    matched_gt = correct 0/1
overlap :: frame_idx = cluster F 30 | det_confidence = conf d=4 | IoU>=0.5 = correct False/True
antwort_de layout=comma :: Aufgabennr = rownum 1 | Urteil = correct falsch/richtig | Zuversicht (%) = conf s=pct d=0
certitude_fr layout=csv2 :: copie = rownum 1 | réponse_exacte = correct non/oui | certitude_pct = conf s=pct d=0
respuesta_bien_es layout=tab :: n_pregunta = rownum 1 | respuesta_bien = correct 0/1 | confianza_modelo = conf d=3
risposta_it layout=semicolon :: n. domanda = rownum 1 | risposta_esatta = correct no/sì |
    sicurezza = conf s=pct d=0 unit=%
toets_nl layout=comma :: vraagnr = rownum 1 | antwoord_juist = correct nee/ja | zekerheid = conf d=2
acertou_pt :: item = rownum 1 | acertou = correct não/sim | confiança = conf d=2
voice_bot :: Utterance = text | ExpectedIntent = y Cancel/Order/Track | RecognizedIntent = pred |
    nluConfidence = conf d=2
addresses layout=pipe :: ADDR_ID = id AD | GEOCODE_CONF = conf d=3 | MATCH_CORRECT = correct N/Y
occupations :: job_title = cat cook/driver/nurse/welder | isco_manual = y 2411/5223/9112 | isco_auto = pred |
    coder_prob = conf d=4
memory_task :: ppt = cluster P 25 | trial_rt = positive | rated_confidence_pct = conf s=pct d=0 steps=20 |
    response_correct = correct 0/1
reasoning_runs n=340 :: puzzle_id = cluster PZ 70 | llm_name = model delta-8b/epsilon-70b |
    self_reported_conf = conf d=2 |
    solved = correct 0/1
weed_camera blank=top_conf:0.08 na=NaN :: shot = id s | weed_true = y dock/nettle/thistle | weed_top = pred |
    top_conf = conf d=4
backwards_fourth quality=inverted n=360 :: clue = rownum 1 | clue_confidence = conf d=3 | clue_solved = correct 0/1
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
two_icu_models layout=rnames :: hosp = cluster H 9 | died_icu = y 0/1 rate=.25 | probGiviti = p m=g d=5 |
    probSaps = p m=s d=5
two_text_nets :: polarity_gt = y neg/neu/pos | roberta_{} = each m=roberta d=5 | distil_{} = each m=distil d=5
two_horizons also=dialysis_90d:risk_estimate :: rec_no = rownum 1 | risk_estimate = p | aki_7d = y 0/1 rate=.2 |
    dialysis_90d = y2 0/1
anonymous_three also=k3:k1 :: k1 = unit | k2 = p | k3 = y 0/1
anonymous_four also=C:A,D:A,D:B or_refuse=yes :: A = unit | B = p | C = y 0/1 | D = flag
distance or_refuse=yes :: sample_no = rownum 1 | svc_decision = p s=logit d=5 | authentic = y 0/1 rate=.5
alive_share or_refuse=yes :: case = id CA | est_survival_2y = p of=0 | deceased_2y = y 0/1 rate=.3
winner or_refuse=yes :: bout_no = rownum 1 | winner = y blue/red rate=.5 | net_prob = p
interest_grade or_refuse=yes :: lead_no = rownum 1 | interest_0_to_10 = p s=ten d=1 | became_client = y 0/1 rate=.3
nothing_above layout=headless or_refuse=yes :: first = p d=6 | second = y 0/1
nothing_above_multi layout=headless_txt or_refuse=yes :: y = y 0..3 | p{} = each d=6
spoken_words or_refuse=yes :: entry = rownum 1 | expressed_certainty = verbal | judged_right = correct no/yes
scale_unsaid :: admission = id AD | frailty_risk = p s=pct d=1 | fell_in_90d = y 0/1 rate=.25
recalibrated also=stroke_2y:updated_risk :: pt = rownum 1 | original_risk = p | updated_risk = near .03 |
    stroke_2y = y 0/1 rate=.25
two_graders also=grader_2:cnn_prob :: slide_no = rownum 1 | grader_1 = y 0/1 | grader_2 = y2 0/1 | cnn_prob = p
edge_int8 :: edge_q_{} = each s=int8 | cls_id = y 0..4
token_mean or_refuse=yes :: segment_no = rownum 1 | avg_token_logprob = conf s=logp d=5 | transcript_ok = correct 0/1
bayes_factor or_refuse=yes :: pair_no = rownum 1 | bayes_factor = p s=odds | same_writer = y 0/1 rate=.4
linear_index or_refuse=yes :: idcode = rownum 1 | xb = p s=logit d=5 | union = y 0/1 rate=.3
good_or_bad or_refuse=yes :: acct_no = id AN | behaviour_score = p of=good | account_status = y good/bad rate=.3
month_or_year also=dead_at_followup:p_death_1y :: nr = rownum 1 | p_death_1m = p | p_death_1y = near .1 |
    dead_at_followup = y 0/1 rate=.3
two_assistants also=claude_ok:claude_conf :: item_id = rownum 1 | gpt_conf = conf m=gpt d=2 | gpt_ok = correct 0/1 |
    claude_conf = conf m=claude d=2 | claude_ok = y2 0/1
"""

# Nothing to read.
REFUSED = """\
credit_features :: cust_ref = rownum 301 | age = age | monthly_income = thousands | late_60d = y 0/1 rate=.2
clinic_features :: sbp = normal 131 17 d=0 | ldl = normal 3.1 .8 | smoker = flag | mi_10y = y 0/1 rate=.2
seed_features :: kernel_area = normal 14.8 2.9 d=2 | kernel_length = normal 5.6 .4 d=3 |
    variety = y Canadian/Kama/Rosa
hard_pair :: diagnosis_final = y healthy/ill | diagnosis_ai = pred
hard_letters layout=tab :: gold_answer = y A/B/C/D | llm_answer = pred
hard_kinds layout=semicolon :: especie_real = y pino/roble/haya | especie_predicha = pred
hidden_test or_refuse=yes :: PassengerKey = id PK | Transported_prob = p d=6
unscored_images :: photo = id ph | p_oak = unit | p_pine = unit | p_yew = unit
used_cars :: listing = rownum 1 | km = thousands | asking_price = thousands | predicted_asking_price = thousands
meter_readings :: read_at = date form=%Y-%m-%d~%H:%M | meter = cat M1/M2 | kwh = positive | voltage = normal 231 2
support_mails :: mail = text | team = y accounts/legal/returns
thirds_fourth :: level_true = y 0.3/1.3/2.3 | plevel{i} = each d=5
points_only or_refuse=yes :: file_no = id FN | beacon_points = int 300 900 | written_off = y 0/1 rate=.1
server_log :: ts = date form=%Y-%m-%d~%H:%M:%S | host = cat web1/web2 | bytes_sent = int 200 90000 | line = text
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
